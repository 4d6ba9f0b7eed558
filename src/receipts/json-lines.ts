// Reads a file of one JSON object a line, a piece at a time: memory is bounded by the longest line that is kept, whatever the file holds.
// A line that cannot be read is counted and passed over, never an error: a writer that was killed leaves one.

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { AgentHooksRefused } from "../errors.ts";
import { type JsonObject, parseJsonObject } from "../json.ts";
import { createLineFramer } from "../spawn/frame.ts";
import { describeForeign, refuseFile } from "./own-file.ts";

/** A longer line is no receipt of ours, in bytes. */
export const LINE_MAX_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

export interface LineReading<T> extends AsyncIterable<T> {
  /** Lines that were passed over, so far; of the whole file when the iteration has ended. */
  readonly unreadable: number;
}

/**
 * @param accept what a line's object means; undefined counts it as unreadable.
 * @throws AgentHooksRefused `receipts_unreadable`, from the iteration: no such file, a symbolic link, no regular file, not this user's.
 */
export function readJsonLines<T>(path: string, accept: (line: JsonObject) => T | undefined): LineReading<T> {
  let unreadable = 0;
  async function* read(): AsyncGenerator<T> {
    unreadable = 0;
    const file = await openToRead(path);
    try {
      let ready: T[] = [];
      const take = (text: string) => {
        const line = parseJsonObject(text);
        const accepted = line === undefined ? undefined : accept(line);
        if (accepted === undefined) unreadable += 1;
        else ready.push(accepted);
      };
      const skip = () => {
        unreadable += 1;
      };
      const framer = createLineFramer({ onLine: take, onOverflow: skip }, LINE_MAX_BYTES);
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      for (;;) {
        const bytesRead = await readPiece(file, piece, path);
        if (bytesRead === 0) break;
        framer.push(piece.subarray(0, bytesRead));
        yield* ready;
        ready = [];
      }
      const rest = framer.end();
      if (rest !== "") take(rest); // whole but for its newline, or torn
      yield* ready;
    } finally {
      await file.close();
    }
  }
  return {
    get unreadable() {
      return unreadable;
    },
    [Symbol.asyncIterator]: read,
  };
}

/** Does not wait for the other end of a FIFO. */
export async function openToRead(path: string): Promise<FileHandle> {
  const refuse = (message: string, cause?: unknown) =>
    refuseFile("receipts_unreadable", path, { message, hint: "name a regular file of yours", cause });
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const isLink = (cause as NodeJS.ErrnoException).code === "ELOOP";
    throw refuse(isLink ? "is a symbolic link" : "cannot be opened", isLink ? undefined : cause);
  }
  try {
    const problem = describeForeign(await file.stat());
    if (problem !== undefined) throw refuse(problem);
    return file;
  } catch (cause) {
    await file.close();
    if (cause instanceof AgentHooksRefused) throw cause;
    throw refuse("cannot be read", cause);
  }
}

export async function readPiece(file: FileHandle, piece: Buffer, path: string): Promise<number> {
  try {
    return (await file.read(piece, 0, piece.length, null)).bytesRead;
  } catch (cause) {
    throw refuseFile("receipts_unreadable", path, {
      message: "cannot be read on",
      hint: "what was read before is whole",
      cause,
    });
  }
}
