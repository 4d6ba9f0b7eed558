// Tells a native binary from what npm puts in its place: a script, or the stub where an install script was not run.

import { open } from "node:fs/promises";

/** First bytes of ELF and of Mach-O (64 bit, both byte orders, and universal). */
const NATIVE_MAGIC = ["7f454c46", "cffaedfe", "feedfacf", "cafebabe"];
const SCRIPT_MAGIC = "2321";

export async function binaryKind(path: string): Promise<"native" | "script" | "other"> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    const magic = buffer.subarray(0, bytesRead).toString("hex");
    if (NATIVE_MAGIC.includes(magic)) return "native";
    return magic.startsWith(SCRIPT_MAGIC) ? "script" : "other";
  } finally {
    await file.close();
  }
}
