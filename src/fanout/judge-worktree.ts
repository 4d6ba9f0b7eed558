// Whether a worktree holds work of its agent. Must never say no where git cannot see all of it: what cannot be judged is an error, and its
// caller keeps the worktree.

import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { git } from "./git.ts";

/** More commits than this are not asked about one by one: the worktree holds work. */
const COMMITS_MAX = 1_000;

/**
 * It holds changes, untracked files or commits that nothing else names; files that git ignores do not count.
 *
 * @param repository top of the working tree that it was made from.
 * @param base the commit that it showed at first.
 * @throws Error with what is wrong: git fails in it, or does not see it as the worktree that was made.
 */
export async function holdsWork(path: string, repository: string, base: string): Promise<boolean> {
  const gitDirectory = await requireOwn(path, repository);
  if ((await git(path, "rev-parse", "HEAD")).trim() !== base) return true;
  const changes = await git(
    path,
    "status",
    "--porcelain=v1",
    "--untracked-files=all",
    "--ignore-submodules=none",
  );
  if (changes.trim() !== "") return true;
  return (
    (await hidesFromStatus(path)) ||
    (await fillsSubmodule(path)) ||
    (await leftCommits(path, gitDirectory, base))
  );
}

/** Git's directory of this worktree. An agent may have removed `.git`, or have made it name another repository. */
async function requireOwn(path: string, repository: string): Promise<string> {
  const file = lstatSync(join(path, ".git"), { throwIfNoEntry: false });
  if (file === undefined) throw new Error("its .git is not there any more");
  if (!file.isFile()) throw new Error("its .git is not the one that was made");
  const ask = async (folder: string, word: string) =>
    realpathSync(resolve(folder, (await git(folder, "rev-parse", word)).replace(/\n$/, "")));
  const top = realpathSync(path);
  if ((await ask(path, "--show-toplevel")) !== top) throw new Error("git takes another folder for its top");
  if ((await ask(path, "--git-common-dir")) !== (await ask(repository, "--git-common-dir")))
    throw new Error("its .git names another repository");
  const gitDirectory = await ask(path, "--absolute-git-dir");
  const owner = readFileSync(join(gitDirectory, "gitdir"), "utf8").trim();
  if (realpathSync(resolve(gitDirectory, owner)) !== join(top, ".git"))
    throw new Error("its .git names another worktree");
  return gitDirectory;
}

/** Files that git was told not to look at (`update-index --assume-unchanged`, `--skip-worktree`). */
async function hidesFromStatus(path: string): Promise<boolean> {
  const flagged = (await git(path, "ls-files", "-v", "-z"))
    .split("\0")
    .filter((entry) => /^[a-zS] /.test(entry));
  if (flagged.length === 0) return false;
  const sparse = await git(path, "config", "--type=bool", "--default=false", "core.sparseCheckout");
  if (sparse.trim() !== "true") return true;
  // Of a sparse checkout these are the files that were never there.
  return flagged.some(
    (entry) =>
      !entry.startsWith("S ") ||
      lstatSync(join(path, entry.slice(2)), { throwIfNoEntry: false }) !== undefined,
  );
}

/** A submodule has no files in a new worktree, and git does not look into its folder. */
async function fillsSubmodule(path: string): Promise<boolean> {
  return (await git(path, "ls-files", "--stage", "-z")).split("\0").some((entry) => {
    if (!entry.startsWith("160000 ")) return false;
    const folder = join(path, entry.slice(entry.indexOf("\t") + 1));
    return (
      lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(folder).length > 0
    );
  });
}

/** Commits that its HEAD showed once, and that are not reachable from the base or from any branch or tag. */
async function leftCommits(path: string, gitDirectory: string, base: string): Promise<boolean> {
  const log = readFileSync(join(gitDirectory, "logs", "HEAD"), "utf8");
  if (log.trim() === "") throw new Error("the log of its HEAD was emptied");
  const lines = log.split("\n").map((line) => line.split(" ", 2).join(" "));
  const other = readIfThere(join(gitDirectory, "ORIG_HEAD"));
  const named = new Set([...lines, other].flatMap((line) => line.match(/\b[0-9a-f]{40,64}\b/g) ?? []));
  const commits = [...named].filter((commit) => commit !== base && !/^0+$/.test(commit));
  if (commits.length === 0) return false;
  if (commits.length > COMMITS_MAX) return true;
  const elsewhere = ["--not", base, "--branches", "--tags", "--remotes"];
  return (await git(path, "rev-list", "--max-count=1", ...commits, ...elsewhere, "--")).trim() !== "";
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
