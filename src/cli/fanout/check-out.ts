// Looks at `--out` of a fan-out before anything is started: its outcomes must never replace what it reads, nor be lost because they cannot be
// written once all tasks have run.

import { rmSync, statSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { unfinishedPath } from "../../fanout/outcomes.ts";
import { AgentHooksRefused } from "../../index.ts";
import { refuseSource } from "../receipts/refuse-source.ts";

/**
 * @param read files that the fan-out reads; undefined ones are not given
 * @throws AgentHooksRefused `option_invalid`: it is one of them, a folder, or in a folder that is not there or in which nothing can be written
 */
export function checkOut(out: string, read: readonly (string | undefined)[]): void {
  const target = resolve(out);
  const files = read.flatMap((file) => (file === undefined ? [] : resolve(file)));
  refuseSource(target, { files, folder: undefined });
  try {
    if (statSync(target, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new Error("it is a directory");
    const attempt = unfinishedPath(target);
    writeFileSync(attempt, "", { flag: "a", mode: 0o600 });
    rmSync(attempt);
  } catch (cause) {
    const message = `cannot be written: ${(cause as Error).message}`;
    const hint = "nothing was started; name a file in a folder that you may write";
    throw new AgentHooksRefused([{ code: "option_invalid", path: `--out ${target}`, message, hint }], {
      cause,
    });
  }
}
