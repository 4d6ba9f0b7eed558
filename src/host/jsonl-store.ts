// A host's receipts in a file of one JSON object a line. Each line is written in one call before `write` returns: a process that is killed
// loses at most the receipt in flight, and several processes may append to one file. Must never write over, cut or follow anything.

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { makeDirectoriesNow } from "../make-directories.ts";
import { checkPath, readOptions } from "../receipts/check-arguments.ts";
import { checkLine } from "../receipts/check-receipt.ts";
import { LINE_MAX_BYTES, type LineReading, readJsonLines } from "../receipts/json-lines.ts";
import { describeForeign, refuseFile } from "../receipts/own-file.ts";
import { type JsonlLine, parseHostLine } from "./parse-line.ts";
import type { HookReceipt, HookRecord, ReceiptStore } from "./receipt.ts";

/** A `ReceiptStore` that is done with a line when the call returns. */
export interface JsonlStore extends ReceiptStore {
  /** Absolute. */
  readonly path: string;
  register(hook: HookRecord): void;
  write(receipt: HookReceipt): void;
  /** Waits until the file is on the disk. A second call does nothing. */
  close(): void;
}

const NEWLINE = 0x0a;
const HINT = "name a file in a folder that you may write";

/**
 * Opens the file, or makes it with the folders above it: 0600 in 0700. A file of this user that others may read is closed to them. A last
 * line that a killed writer left torn gets its newline before the next line.
 *
 * @param options.path of the file; a relative one is resolved against the working directory.
 * @throws AgentHooksRefused `receipts_unwritable` with the file and the system's word: it cannot be made or opened, is a symbolic link, no
 *   regular file, or another user's; `option_invalid`: no path, an option that there is not. `register` and `write` throw `receipts_unwritable`
 *   when a line cannot be written whole, and `option_invalid` for what is no hook or receipt.
 * @example
 * const store = createJsonlStore({ path: "state/receipts.jsonl" });
 */
export function createJsonlStore(options: { readonly path: string }): JsonlStore {
  const path = resolve(checkPath(readOptions(options, { what: "options", known: ["path"] }).path));
  const file = openToAppend(path);
  let isOpen = true;
  /** Where the file ended after a line of ours that nobody has written behind. */
  let knownEnd = -1;

  const append = (line: JsonlLine) => {
    const what = `${line.kind === "hook" ? "hook" : "receipt"} ${JSON.stringify(line.id)}`;
    const refuse = (why: string, cause?: unknown) =>
      refuseFile("receipts_unwritable", path, {
        message: `${what} was not written: ${why}`,
        hint: "hooks are decided regardless; this receipt is lost",
        cause,
      });
    if (!isOpen) throw refuse("the store is closed");
    let written: number;
    let bytes: Buffer;
    try {
      const text = JSON.stringify(line);
      const length = Buffer.byteLength(text);
      if (length > LINE_MAX_BYTES)
        throw refuse(`it has ${length} bytes, and no line of more than ${LINE_MAX_BYTES} is read again`);
      const { size, nlink } = fstatSync(file);
      if (nlink === 0) throw refuse("the file was removed while it was open");
      const isTorn = size !== knownEnd && size > 0 && lastByte(file, size) !== NEWLINE;
      bytes = Buffer.from(`${isTorn ? "\n" : ""}${text}\n`);
      written = writeSync(file, bytes);
      knownEnd = size + written;
    } catch (cause) {
      if (cause instanceof AgentHooksRefused) throw cause;
      throw refuse("the system refused", cause);
    }
    if (written !== bytes.length) {
      knownEnd = -1; // the next line repairs what this one left
      throw refuse(`${written} of ${bytes.length} bytes did fit`);
    }
  };

  return {
    path,
    register: (hook) => append(checkLine("hook", hook, path)),
    write: (receipt) => append(checkLine("execution", receipt, path)),
    close() {
      if (!isOpen) return;
      isOpen = false;
      try {
        fsyncSync(file);
      } catch (cause) {
        const message = "may not be on the disk";
        throw refuseFile("receipts_unwritable", path, { message, hint: "look at the disk", cause });
      } finally {
        closeSync(file);
      }
    },
  };
}

function openToAppend(path: string): number {
  const refuse = (message: string, cause?: unknown) =>
    refuseFile("receipts_unwritable", path, { message, hint: HINT, cause });
  let file: number | undefined;
  try {
    makeDirectoriesNow(dirname(path));
    // Before it is opened too: opening a device may do something.
    const before = describeThere(path);
    if (before !== undefined) throw refuse(before);
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
    file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    const stats = fstatSync(file);
    const problem = describeForeign(stats);
    if (problem !== undefined) throw refuse(problem);
    if ((stats.mode & 0o077) !== 0) fchmodSync(file, 0o600);
    return file;
  } catch (cause) {
    if (file !== undefined) closeSync(file);
    if (cause instanceof AgentHooksRefused) throw cause;
    throw refuse("cannot be made or opened", cause);
  }
}

function describeThere(path: string): string | undefined {
  const stats: Stats | undefined = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : describeForeign(stats);
}

function lastByte(file: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  return readSync(file, byte, 0, 1, size - 1) === 1 ? byte[0] : undefined;
}

/**
 * The lines of such a file in their order, read a piece at a time. A torn or foreign line is passed over and counted in `unreadable`, which
 * is complete when the iteration has ended. Lines written while it is read may or may not be among them.
 *
 * @throws AgentHooksRefused `option_invalid`: no path; `receipts_unreadable`, from the iteration: no such file, a symbolic link, no regular file,
 *   or another user's.
 * @example
 * const lines = readJsonlStore("state/receipts.jsonl");
 * for await (const line of lines) if (line.kind === "execution") console.log(line.hook, line.decision);
 * if (lines.unreadable > 0) console.error(`${lines.unreadable} lines could not be read`);
 */
export function readJsonlStore(path: string): LineReading<JsonlLine> {
  return readJsonLines(resolve(checkPath(path)), parseHostLine);
}
