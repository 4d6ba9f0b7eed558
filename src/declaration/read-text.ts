// The text of a file that somebody named or left: a regular file in UTF-8. A FIFO would be waited for, a device read without end.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { refuseFile } from "./parse-settings.ts";

/** Longest file that is read, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Throws `declaration_invalid` with the path and the cause. */
export async function readText(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new Error("it is no regular file");
      if (stats.size > MAX_BYTES) throw new Error(`it is longer than ${MAX_BYTES} bytes`);
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw refuseFile(
      path,
      `cannot be read: ${code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is not UTF-8" : message}`,
    );
  }
}
