// Puts a shell string into a file of its own, so that it is reviewed in a diff and pinned by content before it runs. Only when asked.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { toOneLine } from "../redaction/terminal.ts";
import type { ReportEntry } from "./report-types.ts";

/** Below the folder of the settings file. */
const FOLDER = "hooks/imported";
const MARK = "# --- the text, as it stood there:";

export interface WrapFile {
  readonly path: string;
  readonly content: string;
}

export interface Wrapped {
  readonly report: ReportEntry;
  readonly file: WrapFile;
}

/** Variables of hosts that nothing sets here. */
const HOST_VARIABLES = /\$\{?((?:CLAUDE|CODEX|GEMINI|CURSOR)_\w+|PLUGIN_ROOT|PLUGIN_DATA|extensionPath)\b/g;

/** Undefined when there is nothing to wrap, or a file cannot hold it. `origin`: where it came from; a line break in it must not end the comment. */
export function wrapShellText(
  report: ReportEntry,
  { settingsFolder, isUser, origin }: { settingsFolder: string; isUser: boolean; origin: string },
): Wrapped | undefined {
  const { wrap, event = "hook", reason: _, ...rest } = report;
  if (wrap === undefined || wrap.text.includes("\0") || /\p{Surrogate}/u.test(wrap.text)) return undefined;
  const digest = createHash("sha256").update(wrap.text).digest("hex").slice(0, 12);
  const name = `${FOLDER}/${event}-${digest}.sh`;
  const file = {
    path: join(settingsFolder, name),
    content: `#!/bin/sh\n# Imported from ${toOneLine(origin)} by bridle import --wrap. Review it before you trust it.\n${MARK}\n${wrap.text}\n`,
  };
  const word = isUser ? `{home}/.lionagi/${name}` : `.lionagi/${name}`;
  const unset = [...wrap.text.matchAll(HOST_VARIABLES)]
    .map(([, variable]) => variable as string)
    .filter((variable) => variable !== "CLAUDE_PROJECT_DIR");
  return {
    file,
    report: {
      ...rest,
      event,
      verdict: "imported",
      entry: { ...wrap.entry, command: ["sh", word] },
      translations: [...report.translations, `--wrap: the exact text → ${name}, run by sh`],
      warnings: [
        `what it does is in ${word}: review that file`,
        ...[...new Set(unset)].map((variable) => `the text uses $${variable}, which Bridle does not set`),
        ...report.warnings,
      ],
    },
  };
}

/** Writes the file, or finds that it holds this text already. Returns whether it was made; a reason when another text is there. */
export async function writeWrapFile({
  path,
  content,
}: WrapFile): Promise<{ isMade: boolean } | { problem: string }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(path, content, { flag: "wx", mode: 0o600 });
    return { isMade: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const problem = await describeOtherText({ path, content });
  return problem === undefined ? { isMade: false } : { problem };
}

/** Undefined when the file holds this text. */
export async function describeOtherText({ path, content }: WrapFile): Promise<string | undefined> {
  const present = await readFile(path, "utf8").catch((error: Error) => error);
  if (present instanceof Error) return `${path} cannot be read: ${present.message}`;
  return textOf(present) === textOf(content) ? undefined : `${path} is there and holds another text`;
}

/** What runs: without the header, which names a place that may have moved. */
function textOf(content: string): string {
  const at = content.indexOf(`${MARK}\n`);
  return at === -1 ? content : content.slice(at);
}
