// A file as its lines, byte for byte: what a reader of receipts passes over (an empty line, a carriage return, a cut end) is told here.
// Memory is bounded by the longest line that is kept.

import { openToRead, readPiece } from "./json-lines.ts";

export interface RawLine {
  /** From 1. */
  readonly number: number;
  /** Without the newline; undefined for one that is longer than `LINE_MAX_BYTES`. */
  readonly bytes: Buffer | undefined;
  /** It ends with a newline. Only the last line may have none. */
  readonly isClosed: boolean;
}

const NEWLINE = 0x0a;
const PIECE_BYTES = 64 * 1024;

/** @throws AgentHooksRefused `receipts_unreadable`, from the iteration. */
export async function* readRawLines(path: string, maxBytes: number): AsyncGenerator<RawLine, void> {
  const file = await openToRead(path);
  try {
    let number = 0;
    let parts: Buffer[] = [];
    let length = 0;
    const keep = (part: Buffer) => {
      length += part.length;
      if (length <= maxBytes) parts.push(Buffer.from(part));
      else parts = [];
    };
    const take = (isClosed: boolean): RawLine => {
      const bytes = length <= maxBytes ? Buffer.concat(parts, length) : undefined;
      parts = [];
      length = 0;
      number += 1;
      return { number, bytes, isClosed };
    };
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (;;) {
      const bytesRead = await readPiece(file, piece, path);
      if (bytesRead === 0) break;
      let start = 0;
      for (let at = find(piece, start, bytesRead); at !== -1; at = find(piece, start, bytesRead)) {
        keep(piece.subarray(start, at));
        yield take(true);
        start = at + 1;
      }
      if (start < bytesRead) keep(piece.subarray(start, bytesRead));
    }
    if (length > 0) yield take(false);
  } finally {
    await file.close();
  }
}

function find(piece: Buffer, start: number, end: number): number {
  const at = piece.indexOf(NEWLINE, start);
  return at < end ? at : -1;
}
