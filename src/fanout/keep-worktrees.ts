// What becomes of the worktree of an attempt that has ended: removed, or kept and told. Called again after a crash, it comes to the same.

import { existsSync } from "node:fs";
import type { KeepWorktree } from "./options.ts";
import type { FanOutState } from "./state.ts";
import type { PlannedWorktree } from "./state-rows.ts";
import { isChanged, isUnfinished, removeWorktree } from "./worktree.ts";

/** Rejects when it can be neither looked at nor removed; it then stays, and is looked at again by the next start. */
export async function settleWorktree(
  state: Pick<FanOutState, "noteWorktree">,
  { index, attempt, path, repository, base }: PlannedWorktree,
  keep: KeepWorktree,
): Promise<void> {
  if (existsSync(path) && !isUnfinished(path)) {
    // One that cannot be looked at, because its agent broke it, may hold work.
    const isKept =
      keep === "always" || (keep === "changed" && (await isChanged(path, base).catch(() => true)));
    if (isKept) return state.noteWorktree(index, attempt, "kept");
  }
  await removeWorktree(repository, path);
  state.noteWorktree(index, attempt, "removed");
}
