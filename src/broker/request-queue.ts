// The run's request FIFO as a stream, and the envelope files beside it. Must never block on, or follow, what an agent put there.

import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { Socket } from "node:net";
import type { RunDirectory } from "./run-directory.ts";

const MAX_ENVELOPE_BYTES = 256 * 1024 * 1024;

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

export async function readEnvelope(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error("the envelope is not a regular file");
    if (stats.size > MAX_ENVELOPE_BYTES) throw new Error(`the envelope has ${stats.size} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
