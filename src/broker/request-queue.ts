// The run's request FIFO as a stream, and the envelope files beside it. Must never block on, or follow, what an agent put there.

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { Socket } from "node:net";
import type { RunDirectory } from "./run-directory.ts";

const MAX_ENVELOPE_BYTES = 256 * 1024 * 1024;
const SMALL_ENVELOPE_BYTES = 256 * 1024;
/** Non-blocking: an agent may have put a FIFO there. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Read-write, so that the FIFO never reports an end between two callers. */
export function openRequestQueue({ requestFifo, changedQuickly }: RunDirectory): Socket {
  const fd = openSync(requestFifo, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const changed = changedQuickly(undefined);
  if (changed.length > 0 || !fstatSync(fd).isFIFO()) {
    closeSync(fd);
    throw new Error(`the request FIFO is not the one that was made: ${changed.join("; ")}`);
  }
  return new Socket({ fd, readable: true, writable: false });
}

/** At once when it is small, as nearly all are: each asynchronous step costs more than the whole of it. */
export async function readEnvelope(path: string): Promise<string> {
  return readSmallEnvelope(path) ?? (await readLargeEnvelope(path));
}

/** Undefined when it is too large to keep the supervisor of many runs waiting for it. */
function readSmallEnvelope(path: string): string | undefined {
  const fd = openSync(path, FLAGS);
  try {
    const stats = fstatSync(fd);
    checkEnvelope(stats);
    if (stats.size > SMALL_ENVELOPE_BYTES) return undefined;
    // One byte more than there is: a file that is still being written is no envelope.
    const bytes = Buffer.allocUnsafe(stats.size + 1);
    const read = readSync(fd, bytes, 0, bytes.length, 0);
    if (read !== stats.size) throw new Error(`the envelope has ${stats.size} bytes, and ${read} were read`);
    return bytes.toString("utf8", 0, read);
  } finally {
    closeSync(fd);
  }
}

async function readLargeEnvelope(path: string): Promise<string> {
  const file = await open(path, FLAGS);
  try {
    checkEnvelope(await file.stat());
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function checkEnvelope(stats: Stats): void {
  if (!stats.isFile()) throw new Error("the envelope is not a regular file");
  if (stats.size > MAX_ENVELOPE_BYTES) throw new Error(`the envelope has ${stats.size} bytes`);
}
