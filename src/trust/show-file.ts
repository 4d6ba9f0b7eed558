// What a person is shown of a file before trusting it: its first lines, and how it differs from what was trusted.

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { readCopy, readSmall, sha256Of } from "./kept-copies.ts";
import type { Pin } from "./pins.ts";

/** Shown of a file that is new. */
export const HEAD_LINES = 40;

export interface ShownFile {
  /** Why there is no text to show. */
  readonly hidden?: "binary" | "too large" | "changed while it was read";
  readonly head?: string;
  /** A unified diff; absent when what was trusted is not kept. */
  readonly diff?: string;
}

export async function showFile(
  { file, sha256 }: Pin,
  { home, trusted }: { home: string /** sha256 of what was trusted. */; trusted: string | undefined },
): Promise<ShownFile> {
  const bytes = await readSmall(file);
  if (bytes === undefined) return { hidden: "too large" };
  // What is shown must be what will be pinned.
  if (sha256Of(bytes) !== sha256) return { hidden: "changed while it was read" };
  if (bytes.includes(0)) return { hidden: "binary" };
  const text = bytes.toString("utf8");
  const lines = text.split("\n");
  const isCut = lines.length > HEAD_LINES + 1;
  const head = isCut
    ? `${lines.slice(0, HEAD_LINES).join("\n")}\n… ${lines.length - HEAD_LINES} more lines`
    : text;
  const before = trusted === undefined ? undefined : await readCopy(home, trusted);
  if (before === undefined) return { head };
  const diff = createTwoFilesPatch(file, file, before.toString("utf8"), text, "trusted", "now", {
    headerOptions: FILE_HEADERS_ONLY,
  });
  return { head, diff };
}
