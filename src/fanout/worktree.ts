// Git worktrees of tasks: made from a commit, looked at, removed. Must never run what an agent may have put into the repository (hooks, a
// file system monitor), and never remove what holds work unless it was told to.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { promisify } from "node:util";
import { makeDirectories } from "../make-directories.ts";

const run = promisify(execFile);
const GIT_MS = 600_000;
const OUTPUT_MAX = 64 * 1024 * 1024;

/** Variables that would point git at another repository are left out. */
function gitEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
}

/** Nothing that the repository names is started. */
const INERT = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

async function git(folder: string, ...words: string[]): Promise<string> {
  try {
    const { stdout } = await run("git", ["-C", folder, ...INERT, ...words], {
      env: gitEnv(),
      timeout: GIT_MS,
      maxBuffer: OUTPUT_MAX,
    });
    return stdout;
  } catch (cause) {
    const { stderr = "", message } = cause as { stderr?: string; message: string };
    throw new Error(`git ${words[0]}: ${stderr.trim() || message}`, { cause });
  }
}

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
  await inTurn(repository, () => git(repository, "worktree", "add", "--quiet", "--detach", path, commit));
}

/** It holds changes, untracked files or commits of its own; files that git ignores do not count. */
export async function isChanged(path: string, base: string): Promise<boolean> {
  const head = (await git(path, "rev-parse", "HEAD")).trim();
  if (head !== base) return true;
  return (
    (
      await git(path, "status", "--porcelain=v1", "--untracked-files=all", "--ignore-submodules=none")
    ).trim() !== ""
  );
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

/** True when it is there and no folder of git's ever finished: nothing an agent did can be in it. */
export function isUnfinished(path: string): boolean {
  return existsSync(path) && !existsSync(resolve(path, ".git"));
}
