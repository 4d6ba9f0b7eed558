// Puts an attempt's fence into its workspace: above every one that is there, whatever Redis remembers.

import { type Fence, fencePath, readFence, writeFence } from "../hooks/fence-file.ts";
import { messageOf } from "../message-of.ts";
import type { RedisCommands } from "./redis-commands.ts";
import type { WorkspaceKeys } from "./redis-keys.ts";

/** The workspace cannot be fenced: nothing may start in it. */
export class FenceRefused extends Error {
  override readonly name = "FenceRefused";
}

/** The lease of the workspace was lost meanwhile. */
export class FenceLost extends Error {
  override readonly name = "FenceLost";
}

/**
 * Writes the fence and answers it.
 *
 * @param token as Redis gave it out. One that the workspace has seen already, because Redis lost its data, is raised first.
 * @throws FenceRefused, FenceLost
 */
export async function raiseFence(
  commands: RedisCommands,
  keys: WorkspaceKeys,
  workspace: string,
  { token, attempt }: Fence,
): Promise<Fence> {
  const path = fencePath(workspace);
  const found = readFence(path);
  if (found !== "absent" && "problem" in found) throw new FenceRefused(`the fence ${path} ${found.problem}`);
  let own = token;
  if (found !== "absent" && found.token >= token) {
    const raised = await commands.raise(keys, attempt, found.token);
    if (raised === undefined) throw new FenceLost("the lease of the workspace was lost");
    own = raised;
  }
  try {
    await writeFence(path, { token: own, attempt });
  } catch (error) {
    throw new FenceRefused(`the fence ${path} cannot be written: ${messageOf(error)}`);
  }
  return { token: own, attempt };
}
