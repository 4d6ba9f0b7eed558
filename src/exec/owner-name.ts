// Names of what a process makes and removes again, so that others can tell when it was killed in between: pid, start time and place of the
// maker are in the name. Removes only what is ours, of a maker that is dead, where nobody else can swap it.

import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ownIdentity, presenceOf } from "../journal/process-identity.ts";

/** For a regular expression: what `ownerName` returns. */
export const OWNER_PATTERN = "\\d+-\\d+-[0-9a-f]{12}";

/** What somebody else's machine, boot or pid namespace has made is not touched before this age: nothing here is made for so long. */
const ELSEWHERE_MS = 60 * 60_000;

/** Of this process, to be part of a name. */
export function ownerName(): string {
  const { pid, startTime } = ownIdentity();
  return `${pid}-${startTime ?? 0}-${placeName()}`;
}

let place: string | undefined;

function placeName(): string {
  const { bootId, pidNamespace, machine } = ownIdentity();
  place ??= createHash("sha256")
    .update(JSON.stringify([bootId, pidNamespace, machine]))
    .digest("hex")
    .slice(0, 12);
  return place;
}

/** Its maker is dead, as far as that can be told from here. */
function isAbandoned(owner: string, { mtimeMs }: Stats): boolean {
  const [pid = "", startTime = "", place] = owner.split("-");
  if (place !== placeName()) return Date.now() - mtimeMs > ELSEWHERE_MS;
  const identity = { ...ownIdentity(), pid: Number(pid), startTime: startTime === "0" ? null : startTime };
  return presenceOf(identity) === "gone";
}

/**
 * Removes what dead processes have left in a folder. Never rejects: what stays is tried again the next time.
 *
 * @param pattern whole names; its first group is the owner.
 * @param remove how one of them is removed. @default with what is in it
 */
export async function removeAbandoned(
  folder: string,
  pattern: RegExp,
  remove: (path: string) => Promise<unknown> = (path) => rm(path, { recursive: true, force: true }),
): Promise<void> {
  try {
    if (!isSafeParent(await lstat(folder))) return;
    for (const name of await readdir(folder)) {
      const owner = pattern.exec(name)?.[1];
      if (owner !== undefined) await removeIfAbandoned(join(folder, name), owner, remove);
    }
  } catch {
    // The folder is not there, or cannot be read.
  }
}

async function removeIfAbandoned(
  path: string,
  owner: string,
  remove: (path: string) => Promise<unknown>,
): Promise<void> {
  try {
    const stats = await lstat(path);
    if (stats.uid !== process.getuid?.() || !(stats.isDirectory() || stats.isFile())) return;
    if (isAbandoned(owner, stats)) await remove(path);
  } catch {
    // Removed meanwhile, or not to be removed.
  }
}

/** Nobody else can replace an entry of ours in it. */
export function isSafeParent(stats: Stats): boolean {
  const isOwned = stats.uid === process.getuid?.() || stats.uid === 0;
  const isOthersToWrite = (stats.mode & 0o022) !== 0;
  const isSticky = (stats.mode & 0o1000) !== 0;
  return stats.isDirectory() && isOwned && (!isOthersToWrite || isSticky);
}
