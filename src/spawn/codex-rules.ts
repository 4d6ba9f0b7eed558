// codex execpolicy files that can only narrow are kept; one that allows anything, or that cannot be read with certainty, is not.

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isNamed } from "../look.ts";

export interface RuleFile {
  /** Where it was found. */
  readonly path: string;
  readonly text: string;
}

/** The `.rules` files of a codex home or project folder, sorted by name. */
export async function readRuleFiles(home: string): Promise<RuleFile[]> {
  const folder = join(home, "rules");
  if (!isNamed(folder)) return [];
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
  const paths = names
    .filter((name) => name.endsWith(".rules"))
    .sort()
    .map((name) => join(folder, name));
  const files = await Promise.all(
    paths.map(async (path) => ((await stat(path)).isFile() ? path : undefined)),
  );
  return Promise.all(
    files
      .filter((path) => path !== undefined)
      .map(async (path) => ({ path, text: await readFile(path, "utf8") })),
  );
}

/**
 * True when every call in the file is a `prefix_rule` with an explicit `forbidden` or `prompt`. A rule without a decision allows
 * (docs/providers/codex.md, rules row), and the files are a small program: anything but plain calls is not judged.
 */
export function onlyNarrows(text: string): boolean {
  const code = text.replaceAll(/^\s*#.*$/gm, "");
  const calls = code.match(/\b[A-Za-z_]\w*\s*\(/g) ?? [];
  const narrowing = code.match(/\bdecision\s*=\s*(["'])(?:forbidden|prompt)\1/g) ?? [];
  const isPlain =
    calls.every((call) => /^prefix_rule\s*\($/.test(call)) &&
    !/\b(?:def|load|for|if|lambda)\b/.test(code.replaceAll(/(["']).*?\1/g, ""));
  return isPlain && calls.length > 0 && calls.length === narrowing.length && !/["']allow["']/.test(code);
}
