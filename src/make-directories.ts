// Makes a directory with what is missing above it. Node's own recursive mkdir never returns below /proc (Node 20), so each level is made
// by itself.

import { existsSync, mkdirSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Levels that were missing get `mode`; resolves with them, from the top. Rejects with the file system's own error; one that is there already is fine. */
export async function makeDirectories(path: string, mode = 0o700): Promise<string[]> {
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
  return missing;
}

/** The same, at once. Throws the file system's own error. */
export function makeDirectoriesNow(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at);
  for (const level of missing) {
    try {
      mkdirSync(level, { mode });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
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
