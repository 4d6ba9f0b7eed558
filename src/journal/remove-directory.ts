// Removes a directory that a dead supervisor left, when it is the one that was made. Never follows a link.

import type { Stats } from "node:fs";
import { chmod, lstat, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SHIM_LAYOUT } from "../broker/shim.ts";
import { isSafeParent } from "../exec/owner-name.ts";
import { tmpDirName } from "../spawn/tmp-dir.ts";
import type { DirectoryRecord, RunRecord } from "./record.ts";

export interface CleanedDirectory {
  readonly path: string;
  /** `left`: another directory, or one that could not be removed. */
  readonly state: "removed" | "absent" | "left";
  /** Why it was left. */
  readonly reason?: string;
}

/** The run directory and the agent's temporary directory. */
export async function cleanDirectories({ admitted, prepared }: RunRecord): Promise<CleanedDirectory[]> {
  const { runId, plannedDirectory, plannedTmpDir } = admitted;
  if (prepared !== undefined) {
    const { runDirectory, tmpDir } = prepared;
    const isNamed = basename(runDirectory.path) === runId;
    const isTemporary = basename(tmpDir.path) === tmpDirName(runId);
    return [
      isNamed
        ? await removeIfSame(runDirectory)
        : { path: runDirectory.path, state: "left", reason: "is not named for the run" },
      isTemporary
        ? await removeIfSame(tmpDir)
        : { path: tmpDir.path, state: "left", reason: "is not named as Bridle names one" },
    ];
  }
  const cleaned: CleanedDirectory[] = [];
  if (plannedDirectory !== null && basename(plannedDirectory) === runId)
    cleaned.push(await removePlanned(plannedDirectory, isOurs));
  if (plannedTmpDir !== null && basename(plannedTmpDir) === tmpDirName(runId))
    cleaned.push(await removePlanned(plannedTmpDir, isSafeParent));
  return cleaned;
}

function isOurs(stats: Stats): boolean {
  return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0;
}

async function removeIfSame({ path, dev, ino }: DirectoryRecord): Promise<CleanedDirectory> {
  return removeChecked(path, (now) =>
    now.dev === dev && now.ino === ino ? undefined : "is not the directory that was made",
  );
}

/**
 * One that was made and not written down: no agent ever ran, the name is the run's own id, and nobody else can replace what is in the folder
 * around it.
 */
async function removePlanned(path: string, isSafe: (parent: Stats) => boolean): Promise<CleanedDirectory> {
  const parent = await lstat(dirname(path)).catch(() => undefined); // then the directory is absent too
  if (parent !== undefined && !isSafe(parent))
    return { path, state: "left", reason: "its parent may be written by others" };
  return removeChecked(path, (now) => (isOurs(now) ? undefined : "belongs to somebody else"));
}

async function removeChecked(
  path: string,
  describeProblem: (now: Stats) => string | undefined,
): Promise<CleanedDirectory> {
  try {
    const now = await lstat(path);
    const problem = now.isDirectory() ? describeProblem(now) : "is no directory";
    if (problem !== undefined) return { path, state: "left", reason: problem };
    await makeWritable(join(path, SHIM_LAYOUT.shimDir));
    await rm(path, { recursive: true, force: true });
    return { path, state: "removed" };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { path, state: "absent" };
    return { path, state: "left", reason: String(error) };
  }
}

/** chmod follows links, so a link is left as it is: rm removes the link itself. */
async function makeWritable(folder: string): Promise<void> {
  const stats = await lstat(folder).catch(() => undefined); // absent: nothing to make writable
  if (stats?.isDirectory() === true) await chmod(folder, 0o700);
}
