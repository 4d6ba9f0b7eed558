// Makes a directory with what is missing above it. Node's own recursive mkdir never returns below /proc (Node 20), so each level is made
// by itself.

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Levels that were missing get `mode`. Rejects with the file system's own error; one that is there already is fine. */
export async function makeDirectories(path: string, mode = 0o700): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await exists(at)); at = dirname(at)) {
    missing.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const level of missing) {
    await mkdir(level, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
