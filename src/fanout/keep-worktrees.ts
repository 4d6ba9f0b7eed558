// What becomes of the worktree of an attempt that has ended: removed, or kept and told. Called again after a crash, it comes to the same.

import { existsSync } from "node:fs";
import { holdsWork } from "./judge-worktree.ts";
import type { KeepWorktree } from "./options.ts";
import type { FanOutState } from "./state.ts";
import type { PlannedWorktree } from "./state-rows.ts";
import { isUnfinished, removeWorktree } from "./worktree.ts";

/** Rejects when it cannot be removed; it then stays, and is looked at again by the next start. */
export async function settleWorktree(
  state: Pick<FanOutState, "noteWorktree">,
  { index, attempt, path, repository, base }: PlannedWorktree,
  { keep, warn }: { keep: KeepWorktree; warn: (message: string) => void },
): Promise<void> {
  if (existsSync(path) && !isUnfinished(path)) {
    const isKept = keep === "always" || (keep === "changed" && (await mayHoldWork()));
    if (isKept) return state.noteWorktree(index, attempt, "kept");
  }
  await removeWorktree(repository, path);
  state.noteWorktree(index, attempt, "removed");

  async function mayHoldWork(): Promise<boolean> {
    try {
      return await holdsWork(path, repository, base);
    } catch (error) {
      // Its agent broke it.
      const problem = error instanceof Error ? error.message : String(error);
      warn(`${path} was kept, because it cannot be told what it holds: ${problem}`);
      return true;
    }
  }
}
