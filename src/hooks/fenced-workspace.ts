// Denies every tool call once another attempt has come into the workspace: a lease may have run out while its holder was asleep. Must never
// let a call through that it cannot judge.

import { isAbsolute } from "node:path";
import type { FunctionEntry } from "../declaration/types.ts";
import { deny } from "../profile/answer.ts";
import { fencePath, readFence } from "./fence-file.ts";
import { checkCount, checkOptions, optionError } from "./options.ts";

export interface FencedWorkspaceOptions {
  /** Real path of the agent's working directory. */
  readonly workspace: string;
  /** The fence of this run, as it was written into the workspace: a whole number, 1 or more. */
  readonly token: number;
  /** Whose it is, as it was written. */
  readonly attempt: string;
}

const NAME = "fencedWorkspace";

/**
 * A guard for `PreToolUse`: allows a call only while the fence in the workspace is exactly this one. A higher one is another's; one that is gone
 * or lower was changed by somebody. The workers of agent-bridle/bullmq add it to every job by themselves. Throws `TypeError` for options that
 * cannot be used.
 * @example { PreToolUse: [{ hooks: [fencedWorkspace({ workspace, token: 7, attempt: "job-1" })] }] }
 */
export function fencedWorkspace(options: FencedWorkspaceOptions): FunctionEntry {
  checkOptions(NAME, options, ["workspace", "token", "attempt"]);
  const { workspace, attempt } = options;
  if (typeof workspace !== "string" || !isAbsolute(workspace))
    throw optionError(`${NAME}: workspace`, "an absolute path", workspace);
  if (typeof attempt !== "string" || attempt === "")
    throw optionError(`${NAME}: attempt`, "a string that is not empty", attempt);
  const token = checkCount(`${NAME}: token`, options.token, 1);
  const path = fencePath(workspace);
  return {
    type: "function",
    name: NAME,
    handler: (envelope) => {
      const problem = judge(path, token, attempt);
      return problem === undefined ? undefined : deny(envelope, `${NAME}: ${problem}`);
    },
  };
}

function judge(path: string, token: number, attempt: string): string | undefined {
  const found = readFence(path);
  if (found === "absent") return `the fence ${path} is gone`;
  if ("problem" in found) return `the fence ${path} ${found.problem}`;
  if (found.token > token)
    return `another attempt has taken over this workspace (fence ${found.token}, this run has ${token})`;
  if (found.token < token || found.attempt !== attempt)
    return `the fence ${path} was changed (fence ${found.token}, this run has ${token})`;
  return undefined;
}
