// The text of the scripts that a guard is made of.

import { open } from "node:fs/promises";

/** Most that is read of one script, in bytes. */
const SCRIPT_BYTES = 256 * 1024;

/** The text of the scripts among files; native programs are left out. Never throws. */
export async function readScripts(paths: readonly string[]): Promise<string> {
  const texts = await Promise.all(paths.map(readScript));
  return texts.filter((text) => text !== undefined).join("\n");
}

async function readScript(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SCRIPT_BYTES), 0, SCRIPT_BYTES, 0);
      const bytes = buffer.subarray(0, bytesRead);
      return bytes.includes(0) ? undefined : bytes.toString("utf8");
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // what cannot be read gives no hint; whether the guard runs is told by its answers
  }
}
