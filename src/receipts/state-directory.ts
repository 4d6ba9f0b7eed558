// Where everything that outlives a run is kept, and its receipts below it. Only tells; makes nothing.

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** `$XDG_STATE_HOME/bridle` or `~/.local/state/bridle`. */
export function stateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const base = env.XDG_STATE_HOME;
  return join(
    base !== undefined && isAbsolute(base)
      ? base
      : join(env.HOME !== undefined && isAbsolute(env.HOME) ? env.HOME : homedir(), ".local", "state"),
    "bridle",
  );
}

/** Where runs write their receipts unless told otherwise: one `<run id>.jsonl` each. */
export function receiptsDirectory(env?: NodeJS.ProcessEnv): string {
  return join(stateDirectory(env), "receipts");
}
