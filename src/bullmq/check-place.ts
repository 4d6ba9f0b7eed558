// What a worker needs of its machine, looked at before it takes a job: one that cannot run any would fail them all.

import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type Issue, refuseIfAny } from "../errors.ts";
import { messageOf } from "../message-of.ts";
import { PERMISSION_MODES } from "../render/claude/conflicts.ts";
import { SANDBOXES } from "../render/codex/conflicts.ts";
import type { AgentWorkerOptions } from "./worker-options.ts";

/** @throws AgentHooksRefused `option_invalid` for each binary, root and mode that cannot be used. */
export function checkPlace({ binaries = {}, roots = [], run = {} }: AgentWorkerOptions): void {
  const issues: Issue[] = [];
  const look = (path: string, value: string, hint: string, problemOf: (value: string) => string) => {
    const problem = problemOf(value);
    if (problem === "") return;
    issues.push({
      code: "option_invalid",
      path,
      message: `${JSON.stringify(value)} ${problem}`,
      hint,
    });
  };
  for (const [provider, binary] of Object.entries(binaries))
    if (binary !== undefined) look(`binaries.${provider}`, binary, "an executable file", problemOfBinary);
  for (const [index, root] of roots.entries()) look(`roots[${index}]`, root, "", problemOfRoot);
  for (const [name, known] of [
    ["permissionMode", PERMISSION_MODES],
    ["sandbox", SANDBOXES],
  ] as const)
    if (run[name] !== undefined)
      look(`run.${name}`, run[name], `known: ${known.join(", ")}`, (value) =>
        known.includes(value) ? "" : "is not known",
      );
  refuseIfAny(issues);
}

/** A relative one would be looked for in the directory of each job: its files would choose the program. */
function problemOfBinary(path: string): string {
  if (!isAbsolute(path)) return "is not an absolute path";
  return problemOf(() => {
    if (!statSync(path).isFile()) return "is no file";
    accessSync(path, constants.X_OK);
    return "";
  });
}

function problemOfRoot(path: string): string {
  return problemOf(() => (statSync(path).isDirectory() ? "" : "is no directory"));
}

function problemOf(look: () => string): string {
  try {
    return look();
  } catch (error) {
    return `cannot be used: ${messageOf(error)}`;
  }
}
