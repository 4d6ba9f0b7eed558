// The last whole line of a receipt file, read from its end: what happened last, at the price of one small read.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { parseJsonObject } from "../json.ts";

export interface LastReceipt {
  readonly kind: string;
  readonly at: string;
  readonly seq: number;
  /** Where the receipts are chained. */
  readonly hash?: string;
  /** It has no newline yet, or an unfinished line follows it. */
  readonly isCut: boolean;
}

const TAIL_BYTES = 64 * 1024;

/** Undefined when there is no such file, or no line in it. Never rejects. */
export async function readLastReceipt(path: string): Promise<LastReceipt | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.uid !== process.getuid?.()) return undefined;
      const from = Math.max(0, stats.size - TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from);
      return lastOf(buffer.toString("utf8", 0, bytesRead));
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // no receipts, or none that can be read
  }
}

function lastOf(tail: string): LastReceipt | undefined {
  const lines = tail.split("\n");
  const rest = lines.pop() ?? "";
  // Whole but for its newline: what follows is to continue from it.
  const unclosed = rest === "" ? undefined : readLine(rest);
  const last = unclosed ?? readLine(lines.at(-1) ?? "");
  return last && { ...last, isCut: rest !== "" };
}

function readLine(text: string): Omit<LastReceipt, "isCut"> | undefined {
  const { kind, at, seq, hash } = parseJsonObject(text) ?? {};
  if (typeof kind !== "string" || typeof at !== "string" || typeof seq !== "number") return undefined;
  return { kind, at, seq, ...(typeof hash === "string" ? { hash } : {}) };
}
