// Every problem of settings files at once, each with its file and line. Reads and starts nothing but the files themselves.

import { homedir } from "node:os";
import { resolve } from "node:path";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { locateSettings, type SettingsFile } from "./find-settings.ts";
import type { ParsedSettings } from "./parse-settings.ts";
import { readHooks } from "./read-hooks.ts";
import { validateDeclaration } from "./validate.ts";

export interface LocatedIssue extends Issue {
  readonly file: string;
  /** From 1; undefined when the problem has no line. */
  readonly line?: number;
}

export interface ValidatedFile {
  readonly path: string;
  /** Entries of hooks, valid ones and others. */
  readonly entries: number;
  readonly issues: readonly LocatedIssue[];
}

/** The files that count for a working directory, in order. Throws `AgentHooksRefused` when they cannot be looked for. */
export async function validateSettings({
  cwd,
  home = homedir(),
  plugins = [],
}: {
  cwd: string;
  home?: string;
  plugins?: readonly string[];
}): Promise<ValidatedFile[]> {
  const { files } = await locateSettings({ cwd, home, plugins });
  return Promise.all(files.map((file) => validateFile(file)));
}

/** One file. `isFragment`: it must hold hooks, as a file that is named on the command line must. */
export async function validateFile({
  path,
  isFragment = true,
}: Pick<SettingsFile, "path"> & Partial<Pick<SettingsFile, "isFragment">>): Promise<ValidatedFile> {
  const file = resolve(path);
  try {
    const { declared, parsed } = await readHooks(file, { isRequired: isFragment });
    if (declared === undefined) return { path: file, entries: 0, issues: [] };
    const { declaration, issues } = validateDeclaration(declared, file);
    const groups = Object.values(declaration).flat();
    const entries = groups.reduce(
      (sum, group) => sum + (Array.isArray(group?.hooks) ? group.hooks.length : 0),
      0,
    );
    return { path: file, entries, issues: issues.map((issue) => locate(issue, file, parsed)) };
  } catch (error) {
    if (!(error instanceof AgentHooksRefused)) throw error;
    return { path: file, entries: 0, issues: error.issues.map((issue) => locate(issue, file, undefined)) };
  }
}

/** Where an issue is, by its path: `file: Event[0].hooks[1].key`, or `file:line`. */
export function locate(issue: Issue, file: string, parsed: ParsedSettings | undefined): LocatedIssue {
  const rest = issue.path.startsWith(file) ? issue.path.slice(file.length) : "";
  const known = /^:(\d+)/.exec(rest)?.[1];
  if (known !== undefined) return { ...issue, file, line: Number(known) };
  const keys = [...rest.replace(/^: /, "").matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? (key ?? "") : Number(index),
  );
  if (parsed === undefined || keys.length === 0) return { ...issue, file };
  return { ...issue, file, line: parsed.lineOf(["hooks_external", ...keys]) };
}
