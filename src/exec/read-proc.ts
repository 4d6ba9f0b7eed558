// Reads files of the process table into one buffer that is used again and again. Node's own reading takes 64 KiB for each file whose length is not
// known, as those of /proc: a look at hundreds of processes would leave tens of megabytes to the garbage collector.

import { closeSync, constants, openSync, readSync } from "node:fs";

/** Grows when a file does not fit. */
let scratch = Buffer.allocUnsafeSlow(16 * 1024);

/** The bytes, which are another file's after the next call; undefined when it is gone, or another user's. Never throws. */
export function readProc(path: string): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY);
    let length = 0;
    for (;;) {
      if (length === scratch.length)
        scratch = Buffer.concat([scratch, Buffer.allocUnsafeSlow(scratch.length)]);
      const read = readSync(file, scratch, length, scratch.length - length, null);
      if (read === 0) return scratch.subarray(0, length);
      length += read;
    }
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** As text, a character a byte. */
export function readProcText(path: string): string | undefined {
  return readProc(path)?.toString("latin1");
}
