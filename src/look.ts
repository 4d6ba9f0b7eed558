// Looks at the file system at once. A look at a name or at the numbers of a file takes some microseconds, and through the thread pool ten times as
// much; a start takes dozens. Must never read much, nor wait for what is not a regular file: that stays asynchronous, as all that changes a disk.

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, statSync } from "node:fs";

/** Longest file that is read at once, in bytes. */
const SMALL_BYTES = 256 * 1024;

/** Something is there; a link counts when what it leads to is there. Never throws. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // cannot be reached: for whoever looks it is not there
  }
}

/** As `isThere`, of the name itself: a link counts wherever it leads. */
export function isNamed(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** The text of a small regular file under its own name; undefined for everything else. Never throws. */
export function readIfSmall(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > SMALL_BYTES) return undefined;
    // One byte more than there is: a file that grows meanwhile is not the one that was looked at.
    const bytes = Buffer.allocUnsafe(stats.size + 1);
    const read = readSync(fd, bytes, 0, bytes.length, 0);
    return read === stats.size ? bytes.toString("utf8", 0, read) : undefined;
  } catch {
    return undefined; // gone, or not to be read
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
