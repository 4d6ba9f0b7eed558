// Where tasks work: their own folder, or a worktree that is planned in the state, made, gone on with, and in the end removed or kept.

import { existsSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { settleWorktree } from "./keep-worktrees.ts";
import type { KeepWorktree } from "./options.ts";
import type { FanOutState } from "./state.ts";
import type { PlannedWorktree, ReadyTask } from "./state-rows.ts";
import type { TaskSpec } from "./task.ts";
import { addWorktree, findRepository, listWorktrees, type Repository, removeWorktree } from "./worktree.ts";

/** A task that was taken, and the attempt that was written down for it. */
export interface Taken extends ReadyTask {
  readonly attempt: number;
  readonly runId: string;
  /** Where a worktree is to be made, or is; an Error: it cannot be made. */
  readonly worktree: PlacedWorktree | Error | undefined;
}

export interface PlacedWorktree {
  readonly path: string;
  readonly repository: Repository;
  /** It is there from an earlier attempt, whose session goes on in it. */
  readonly isThere: boolean;
}

export interface TaskWorktrees {
  /** To be awaited once before the first task is taken. */
  findRepositories(specs: readonly TaskSpec[]): Promise<void>;
  /** Writes the next attempt down, with its worktree. In one turn of the event loop: nobody else takes the task. */
  take(task: ReadyTask, runId: string): Taken;
  /** Makes what is not there. Resolves with the folder to work in; rejects with what is wrong. */
  enter(taken: Taken): Promise<string>;
  /** The attempt has ended, and no other goes on in its worktree. */
  leave(taken: Taken): Promise<void>;
  /** All that no task uses any more. Resolves with how many were left. */
  settle(): Promise<number>;
  /** What a git that outlived its fan-out made late. */
  removeStrays(): Promise<void>;
}

export function createTaskWorktrees({
  state,
  keep,
  warn,
}: {
  state: FanOutState;
  keep: KeepWorktree;
  warn: (message: string) => void;
}): TaskWorktrees {
  /** By the tasks' working directories; an Error where there is none any more. */
  const repositories = new Map<string, Repository | Error>();
  const folder = join(state.directory, "worktrees");
  const settleOne = async (planned: PlannedWorktree): Promise<boolean> => {
    try {
      await settleWorktree(state, planned, { keep, warn });
      return true;
    } catch (error) {
      warn(`${planned.path} was left: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  };

  return {
    async findRepositories(specs) {
      for (const { cwd, worktree } of specs)
        if (worktree && !repositories.has(cwd))
          repositories.set(cwd, await findRepository(cwd).catch((error: Error) => error));
    },

    take(task, runId) {
      const { spec, attempts, resume } = task;
      const { index } = spec;
      const repository = spec.worktree ? repositories.get(spec.cwd) : undefined;
      if (repository === undefined || repository instanceof Error)
        return { ...task, runId, attempt: state.startAttempt(index, { runId }), worktree: repository };
      const last = attempts.at(-1);
      const path = last?.worktreeState === "planned" ? last.worktree : undefined;
      if (resume !== undefined && last !== undefined && path !== undefined && existsSync(path)) {
        const attempt = state.startAttempt(index, { runId });
        state.handWorktree(index, last.attempt, attempt);
        return { ...task, runId, attempt, worktree: { path, repository, isThere: true } };
      }
      const fresh = join(folder, `${index}-${runId.slice(0, 8)}`);
      const worktree = { path: fresh, repository: repository.root };
      const attempt = state.startAttempt(index, { runId, worktree });
      return {
        ...task,
        resume: undefined,
        runId,
        attempt,
        worktree: { path: fresh, repository, isThere: false },
      };
    },

    async enter({ spec, base = "", worktree }) {
      if (worktree === undefined) return spec.cwd;
      if (worktree instanceof Error) throw worktree;
      const { path, repository, isThere } = worktree;
      if (!isThere) await addWorktree(repository.root, path, base);
      return join(path, repository.below);
    },

    async leave({ spec: { index }, attempt, base = "", worktree }) {
      if (worktree === undefined || worktree instanceof Error) return;
      const { path, repository } = worktree;
      await settleOne({ index, attempt, path, repository: repository.root, base });
    },

    async settle() {
      let left = 0;
      for (const planned of state.plannedWorktrees()) if (!(await settleOne(planned))) left += 1;
      return left;
    },

    async removeStrays() {
      const kept = new Set(state.keptWorktrees());
      const found = [...repositories.values()].flatMap((it) => (it instanceof Error ? [] : it.root));
      for (const root of new Set(found))
        for (const path of await listWorktrees(root, folder))
          if (!kept.has(path)) await removeWorktree(root, path);
      try {
        rmdirSync(folder);
      } catch {
        // kept ones are in it, or there were none
      }
    },
  };
}
