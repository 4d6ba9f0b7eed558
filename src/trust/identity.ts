// What a file was when it was checked, and whether it still is. Cheap fields first; bytes are read again when any of them differs.

import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { FileIdentity } from "../compiler/plan.ts";

async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}

/** By path and numbers: a binary has hundreds of megabytes, and is compiled for again and again. A change of any number is another key. */
const hashed = new Map<string, Promise<string>>();

function hashOnce(path: string, key: string): Promise<string> {
  const known = hashed.get(key);
  if (known !== undefined) return known;
  const hashing = sha256OfFile(path);
  hashed.set(key, hashing);
  hashing.catch(() => hashed.delete(key)); // the next one reads it anew
  return hashing;
}

/** Identity of a regular file, links resolved. Rejects with the file system's own error. */
export async function identifyFile(path: string): Promise<FileIdentity> {
  const real = await realpath(path);
  const { dev, ino, size, mtimeMs, ctimeMs, mode } = await stat(real);
  const key = [real, dev, ino, size, mtimeMs, ctimeMs].join("\0");
  const sha256 = await hashOnce(real, key);
  return Object.freeze({ path: real, dev, ino, size, mtimeMs, ctimeMs, mode, sha256 });
}

/** Says how a file differs from its recorded identity, or undefined when its bytes are the same. Never throws. */
export async function describeDifference(identity: FileIdentity): Promise<string | undefined> {
  try {
    const now = statSync(identity.path);
    if (!now.isFile()) return `${identity.path} is no longer a regular file`;
    const isSame =
      now.dev === identity.dev &&
      now.ino === identity.ino &&
      now.size === identity.size &&
      now.mtimeMs === identity.mtimeMs &&
      now.ctimeMs === identity.ctimeMs;
    if (isSame) return undefined;
    if ((await realpath(identity.path)) !== identity.path) return `${identity.path} now leads elsewhere`;
    if ((identity.mode & 0o111) !== 0 && (now.mode & 0o111) === 0)
      return `${identity.path} is no longer executable`;
    return (await sha256OfFile(identity.path)) === identity.sha256
      ? undefined
      : `${identity.path} has other bytes`;
  } catch (error) {
    return `${identity.path} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** All differences of a list of files; empty when every guard is what was compiled. */
export async function listDifferences(identities: readonly FileIdentity[]): Promise<string[]> {
  const found = await Promise.all(identities.map(describeDifference));
  return found.filter((difference) => difference !== undefined);
}
