// Reads what stands under `hooks_external` of one file, whoever asks for it: to load it or to say what is wrong with it.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { isJsonObject } from "../json.ts";
import { type ParsedSettings, parseSettings, refuseFile, refuseStrays } from "./parse-settings.ts";

export interface FileHooks {
  /** As the file says it, unchecked; undefined when it says nothing of hooks. */
  readonly declared: unknown;
  readonly parsed: ParsedSettings;
}

/**
 * @param isRequired a file without `hooks_external` refuses
 * @throws AgentHooksRefused `declaration_invalid`, with the path and the cause: no regular file, no UTF-8, no YAML, no map, misplaced events
 */
export async function readHooks(path: string, { isRequired }: { isRequired: boolean }): Promise<FileHooks> {
  const parsed = parseSettings(await readText(path), path);
  const { root } = parsed;
  if (root !== null && !isJsonObject(root)) throw refuseFile(path, "is no map of settings");
  if (root !== null) refuseStrays(root, path);
  if (root !== null && Object.hasOwn(root, "hooks_external"))
    return { declared: root.hooks_external, parsed };
  if (isRequired) throw refuseFile(path, "has no hooks_external key", "put the events under hooks_external:");
  return { declared: undefined, parsed };
}

/** Longest file that is read, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A FIFO would be waited for, a device read without end. */
async function readText(path: string): Promise<string> {
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
