// What the user has trusted, read from the user's settings file. What is not understood trusts nothing.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { SETTINGS_FILE } from "../declaration/find-settings.ts";
import { parseSettings, refuseFile } from "../declaration/parse-settings.ts";
import { isJsonObject } from "../json.ts";

/** Keys of the user's settings file. */
export const COMMANDS_KEY = "trusted_hook_commands";
export const FILES_KEY = "trusted_hook_files";
export const PROJECTS_KEY = "trusted_projects";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const fileRow = z.object({ command: sha256, file: z.string(), sha256 });
const projectRow = z.object({ project: z.string(), file: z.string(), sha256 });

/** Content that was trusted under a command: a file's, or that of its variables (`file: "env"`). */
export type FileRow = z.infer<typeof fileRow>;
export type ProjectRow = z.infer<typeof projectRow>;

export interface TrustRecords {
  /** Hashes of argvs. */
  readonly commands: ReadonlySet<string>;
  readonly files: readonly FileRow[];
  readonly projects: readonly ProjectRow[];
}

export function userSettingsFile(home: string): string {
  return join(home, SETTINGS_FILE);
}

/** Throws `AgentHooksRefused` (`declaration_invalid`) when the file is there and cannot be read as settings. */
export async function readTrust(home: string): Promise<TrustRecords> {
  const file = userSettingsFile(home);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw refuseFile(file, `cannot be read: ${error.message}`);
  });
  const { root } = parseSettings(text, file);
  const rowsOf = (key: string): unknown[] => {
    const rows = isJsonObject(root) ? root[key] : undefined;
    return Array.isArray(rows) ? rows : [];
  };
  const parse = <T>(schema: z.ZodType<T>, key: string): T[] =>
    rowsOf(key).flatMap((row) => {
      const parsed = schema.safeParse(row);
      return parsed.success ? [parsed.data] : [];
    });
  return {
    commands: new Set(parse(sha256, COMMANDS_KEY)),
    files: parse(fileRow, FILES_KEY),
    projects: parse(projectRow, PROJECTS_KEY),
  };
}
