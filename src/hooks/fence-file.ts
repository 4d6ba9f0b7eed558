// The fence of a workspace: one small file that says whose turn it is. In the git directory where there is one, so that no repository is
// made dirty. Who writes it is src/bullmq; who reads it before each tool call is fencedWorkspace().

import { createHash, randomUUID } from "node:crypto";
import { lstatSync, readFileSync, statSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

export interface Fence {
  /** Grows with each attempt in the workspace. */
  readonly token: number;
  /** Whose it is. */
  readonly attempt: string;
}

const FILE_BYTES_MAX = 4096;

/** @param workspace real path. */
export function fencePath(workspace: string): string {
  return fencePaths(workspace)[0];
}

/**
 * Where a fence of this workspace may lie: the nearest git directory, those further out, the workspace itself. The first is where it is put; the
 * others may be an earlier attempt's, who read it before a repository was made here.
 */
export function fencePaths(workspace: string): [string, ...string[]] {
  const paths: string[] = [];
  for (let folder = workspace; ; folder = dirname(folder)) {
    const git = gitDirectory(join(folder, ".git"));
    if (git !== undefined) {
      const below = relative(folder, workspace);
      const suffix = below === "" ? "" : `-${createHash("sha256").update(below).digest("hex").slice(0, 16)}`;
      paths.push(join(git, `bridle-fence${suffix}`));
    }
    if (dirname(folder) === folder) break;
  }
  const [first, ...others] = [...paths, join(workspace, ".bridle-fence")];
  return [first as string, ...others];
}

/** The directory itself, or the one that a worktree's file names. Undefined for what is no git directory of this user. */
function gitDirectory(path: string): string | undefined {
  try {
    const entry = lstatSync(path);
    const git = entry.isFile()
      ? /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8").slice(0, FILE_BYTES_MAX))?.[1]
      : path;
    if (git === undefined || entry.isSymbolicLink()) return undefined;
    const folder = resolve(dirname(path), git.trim());
    const { uid } = statSync(folder);
    // A checkout may bring a `.git` file that points anywhere.
    const isGit =
      statSync(join(folder, "HEAD")).isFile() && (uid === process.getuid?.() || entry.isDirectory());
    return isGit ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** `absent`: there is none. A sentence: there is one, and it cannot be read. */
export function readFence(path: string): Fence | "absent" | { readonly problem: string } {
  let text: string;
  try {
    const stats = lstatSync(path);
    if (!stats.isFile() || stats.size > FILE_BYTES_MAX) return { problem: "is no file of ours" };
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "absent";
    return { problem: `cannot be read: ${String(error)}` };
  }
  try {
    const { token, attempt } = JSON.parse(text) as Record<string, unknown>;
    if (Number.isSafeInteger(token) && (token as number) > 0 && typeof attempt === "string")
      return { token: token as number, attempt };
  } catch {
    // Said below.
  }
  return { problem: "holds no fence" };
}

/** Whole or not at all; a link in its place is replaced, not followed. */
export async function writeFence(path: string, fence: Fence): Promise<void> {
  const written = `${path}.${randomUUID()}.new`;
  try {
    await writeFile(written, `${JSON.stringify(fence)}\n`, { flag: "wx", mode: 0o644 });
    await rename(written, path);
  } catch (error) {
    await rm(written, { force: true });
    throw error;
  }
}
