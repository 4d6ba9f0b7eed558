// Puts an attempt's fence into its workspace: above every one that is there, whatever Redis remembers.

import { type Fence, fencePaths, readFence, writeFence } from "../hooks/fence-file.ts";
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
  const [path, ...others] = fencePaths(workspace);
  const found = [path, ...others].map((at) => ({ at, fence: readFence(at) }));
  let seen = 0;
  for (const { at, fence } of found) {
    if (fence === "absent") continue;
    if ("problem" in fence) throw new FenceRefused(`the fence ${at} ${fence.problem}`);
    seen = Math.max(seen, fence.token);
  }
  let own = token;
  if (seen >= token) {
    const raised = await commands.raise(keys, attempt, seen);
    if (raised === undefined) throw new FenceLost("the lease of the workspace was lost");
    own = raised;
  }
  // Every one that is there: an earlier attempt reads the one that it knows.
  for (const { at, fence } of found) {
    if (at !== path && fence === "absent") continue;
    try {
      await writeFence(at, { token: own, attempt });
    } catch (error) {
      throw new FenceRefused(`the fence ${at} cannot be written: ${messageOf(error)}`);
    }
  }
  return { token: own, attempt };
}
