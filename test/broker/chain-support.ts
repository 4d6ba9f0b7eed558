// Entries and an envelope for tests of chains.

import type { CompiledCommand, CompiledFunction } from "../../src/compiler/plan.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";

/** A call of the shell as claude makes it. */
export const SHELL_CALL: Envelope = {
  session_id: "s",
  cwd: "/",
  hook_event_name: "PreToolUse",
  harness: "lionagi",
  profile: "v1",
  run_id: "r",
  provider: "claude",
  tool_name: "Bash",
  tool_input: { command: "ls" },
};

let made = 0;

/** The terms that every entry has, under an id of its own. */
export function terms(): Omit<CompiledFunction, "type" | "name" | "handler"> {
  made += 1;
  return {
    id: `PreToolUse[${made}]`,
    event: "PreToolUse",
    matcher: undefined,
    timeoutMs: 10_000,
    onFailure: "closed",
    grants: false,
  };
}

export function fn(
  handler: CompiledFunction["handler"],
  more: Partial<CompiledFunction> = {},
): CompiledFunction {
  return { ...terms(), type: "function", name: "f", handler, ...more };
}

export function commandEntryOf(
  argv: readonly string[],
  more: Partial<CompiledCommand> = {},
): CompiledCommand {
  return { ...terms(), type: "command", argv, argv0: argv[0] ?? "", env: {}, files: [], ...more };
}
