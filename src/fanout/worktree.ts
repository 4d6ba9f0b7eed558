// Git worktrees of tasks: made from a commit, found, removed.

import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { makeDirectories } from "../make-directories.ts";
import { git } from "./git.ts";

export interface Repository {
  /** Top of the working tree that `cwd` lies in. */
  readonly root: string;
  /** `cwd` below it, "" for the top. */
  readonly below: string;
  /** The commit that `base` names. */
  readonly commit: string;
}

/** Rejects with an Error that says what is wrong. */
export async function findRepository(cwd: string, base = "HEAD"): Promise<Repository> {
  const [root = ""] = (await git(cwd, "rev-parse", "--show-toplevel")).split("\n");
  const prefix = (await git(cwd, "rev-parse", "--show-prefix")).split("\n")[0] ?? "";
  const [commit = ""] = (
    await git(cwd, "rev-parse", "--verify", "--quiet", "--end-of-options", `${base}^{commit}`).catch(
      (cause: unknown) => {
        throw new Error(`${JSON.stringify(base)} names no commit of ${root}`, { cause });
      },
    )
  ).split("\n");
  return { root, below: prefix.replace(/\/$/, ""), commit };
}

/** One at a time a repository: git's own locks would make others fail. */
const turns = new Map<string, Promise<unknown>>();

async function inTurn<T>(repository: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(repository) ?? Promise.resolve();
  const mine = before.then(work, work);
  turns.set(repository, mine);
  return mine.finally(() => {
    if (turns.get(repository) === mine) turns.delete(repository);
  });
}

/** The folder must not be there. */
export async function addWorktree(repository: string, path: string, commit: string): Promise<void> {
  await makeDirectories(resolve(path, ".."));
  // The log of its HEAD tells commits that were left; git goes on with one that is there, whatever its configuration says.
  const withLog = ["-c", "core.logAllRefUpdates=true"];
  const words = ["worktree", "add", "--quiet", "--detach", path, commit];
  await inTurn(repository, () => git(repository, ...withLog, ...words));
}

/** Also one that was made in part, or is gone already. */
export async function removeWorktree(repository: string, path: string): Promise<void> {
  await inTurn(repository, async () => {
    // What its maker locked before it died needs the second --force.
    const failure = await git(repository, "worktree", "remove", "--force", "--force", path).catch(
      (error: unknown) => error,
    );
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
    if (failure instanceof Error) {
      await git(repository, "worktree", "unlock", path).catch(() => {}); // it may not be known at all
      await git(repository, "worktree", "prune");
    }
  });
}

/** Paths of the repository's worktrees that lie in a folder. */
export async function listWorktrees(repository: string, folder: string): Promise<string[]> {
  const lines = (await git(repository, "worktree", "list", "--porcelain", "-z")).split("\0");
  return lines
    .filter((line) => line.startsWith("worktree "))
    .map((line) => line.slice("worktree ".length))
    .filter((path) => {
      const below = relative(folder, path);
      return below !== "" && !below.startsWith("..");
    });
}

/** True when it is there and git has put nothing into it: its first file is `.git`. One without it that has others may hold work. */
export function isUnfinished(path: string): boolean {
  return existsSync(path) && readdirSync(path).length === 0;
}
