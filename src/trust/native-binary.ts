// Tells a native binary from what npm puts in its place (a script, or the stub where an install script was not run) and from a fake
// provider of the testkit.

import { open } from "node:fs/promises";

/** First bytes of ELF and of Mach-O (64 bit, both byte orders, and universal). */
const NATIVE_MAGIC = ["7f454c46", "cffaedfe", "feedfacf", "cafebabe"];
const SCRIPT_MAGIC = "2321";

/** The second line of a script that says of itself that it is a fake. It is no secret: it earns nothing but to be named. */
export const FAKE_PROVIDER_MARK = "// agent-bridle testkit: a fake provider";

/** Enough for a shebang line, which the kernel cuts at 256 bytes, and the mark. */
const HEAD_BYTES = 512;

/** `fake`: a script of the testkit, which starts no model and outlives nothing. */
export type BinaryKind = "native" | "script" | "fake" | "other";

export async function binaryKind(path: string): Promise<BinaryKind> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    const magic = head.subarray(0, 4).toString("hex");
    if (NATIVE_MAGIC.includes(magic)) return "native";
    if (!magic.startsWith(SCRIPT_MAGIC)) return "other";
    return head.toString("utf8").split("\n")[1] === FAKE_PROVIDER_MARK ? "fake" : "script";
  } finally {
    await file.close();
  }
}
