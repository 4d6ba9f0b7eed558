// Keeps what was trusted, so that a change can be shown as a difference. A copy is named by its bytes and is checked against its name when it is
// read; without one there is no difference to show, and that is all.

import { createHash, randomUUID } from "node:crypto";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SETTINGS_FOLDER } from "../declaration/find-settings.ts";
import { makeDirectories } from "../make-directories.ts";

/** A larger file is pinned, and not kept, in bytes. */
export const COPY_MAX_BYTES = 256 * 1024;

function folderOf(home: string): string {
  return join(home, SETTINGS_FOLDER, "trusted");
}

export async function keepCopy(home: string, bytes: Buffer, sha256: string): Promise<void> {
  if (bytes.length > COPY_MAX_BYTES) return;
  const path = join(folderOf(home), sha256);
  if ((await readCopy(home, sha256)) !== undefined) return;
  await makeDirectories(folderOf(home));
  const temporary = `${path}.${randomUUID()}`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(bytes);
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Undefined when there is none, or it is not what its name says. */
export async function readCopy(home: string, sha256: string): Promise<Buffer | undefined> {
  const bytes = await readFile(join(folderOf(home), sha256)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  return bytes !== undefined && sha256Of(bytes) === sha256 ? bytes : undefined;
}

/** The bytes of a file that can be shown; undefined when it is too large. */
export async function readSmall(path: string): Promise<Buffer | undefined> {
  return (await stat(path)).size > COPY_MAX_BYTES ? undefined : readFile(path);
}

export function sha256Of(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
