// How much of what people have is imported. The files are made up after what public configurations hold: three of four commands with
// shell characters need no shell, one in two names a placeholder of its host, one in five a shell, an event or a filter we do not have.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { importHooks } from "../../src/import/import-hooks.ts";
import type { FileReport, HookSource } from "../../src/import/report-types.ts";
import { isEventName } from "../../src/profile/events.ts";
import { countEntries } from "./count-entries.ts";
import { kindOfFixture } from "./support.ts";

const FOLDER = fileURLToPath(new URL("fixtures/configs/", import.meta.url));
const SOURCES: readonly HookSource[] = readdirSync(FOLDER).map((path) => ({
  provider: path.includes("codex") ? "codex" : "claude",
  path,
  text: readFileSync(FOLDER + path, "utf8"),
  kind: kindOfFixture(path),
}));

/** Command handlers of a run, at the right level, on an event that can be declared. */
function mappedOf({ entries }: FileReport) {
  return entries.filter(
    ({ path, event = "", original, verdict }) =>
      /\.hooks\[\d+\]$/.test(path) &&
      isEventName(event) &&
      /"?command"?\s*[:=]/.test(original) &&
      verdict !== "note",
  );
}

test("four of five mapped entries import without --wrap", () => {
  const mapped = SOURCES.flatMap((source) => mappedOf(importHooks(source)));
  const imported = mapped.filter(({ verdict }) => verdict === "imported");
  console.log(`import: ${imported.length} of ${mapped.length} mapped entries`);
  expect(mapped.length).toBeGreaterThan(80);
  expect(imported.length / mapped.length).toBeGreaterThanOrEqual(0.8);
});

test.each(SOURCES.map((source) => [source.path, source] as const))(
  "%s: every entry is accounted for",
  (_, source) => {
    const { entries, error } = importHooks(source);
    expect(error).toBeUndefined();
    const { kind, text } = source;
    const plain = kind === "json" ? text.replaceAll(/^\s*\/\/.*$|\/\*[\s\S]*?\*\//gm, "") : text;
    expect(entries.length).toBe(countEntries({ ...source, text: plain }));
    expect(entries.length).toBeGreaterThan(0);
  },
);

test("nothing is rejected but for these reasons", () => {
  const reasons = SOURCES.flatMap((source) => mappedOf(importHooks(source)))
    .filter(({ verdict }) => verdict === "rejected")
    .map(({ reason = "" }) => reason);
  expect(reasons).toMatchInlineSnapshot(`
    [
      "a pipe needs a shell",
      "a redirect needs a shell",
      "|| needs a shell; to say that this hook may fail, strip it and declare the hook non-gating: on_failure: open",
      "if filter not supported; importing would widen the hook",
      "matcher "*.ts|*.tsx": error parsing regexp: missing argument to repetition operator: \`*\`",
      "backslash (Windows path?) in "C:\\\\Work\\\\p\\\\hooks\\\\pre.py": a shell would eat it",
      "backslash (Windows path?) in "C:\\\\Work\\\\p\\\\hooks\\\\stop.js": a shell would eat it",
      "$ inside double quotes: $extensionPath belongs to another host (Gemini CLI); claude does not set it",
      "$ inside double quotes: unknown variable $CLAUDE_TOOL_INPUT_FILE_PATH; hook input comes on stdin, not in variables",
    ]
  `);
});
