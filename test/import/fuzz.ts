// Throws files at the import, made up and mangled, and holds it to four promises: it does not throw; what it reports is complete; what
// it imports would load; and an imported argv is the text it came from. The counts come from other parsers than the import's own.

import fc from "fast-check";
import { validateDeclaration } from "../../src/declaration/validate.ts";
import { decodeSource } from "../../src/import/find-sources.ts";
import { importHooks } from "../../src/import/import-hooks.ts";
import type { FileKind, FileReport, HookSource, ReportEntry } from "../../src/import/report-types.ts";
import type { Provider } from "../../src/profile/events.ts";
import { countEntries } from "./count-entries.ts";
import { print, settingsFile, shellText } from "./made-up-files.ts";
import { garbage, mangledBytes } from "./mangled-files.ts";

export interface FuzzTally {
  readonly inputs: number;
  readonly entries: number;
  readonly imported: number;
  /** Inputs whose number of entries another parser confirmed. */
  readonly counted: number;
}

type Tally = { -readonly [Key in keyof FuzzTally]: FuzzTally[Key] };

/** Throws on the first input that breaks a promise, shrunk. `runs` is split over five kinds of input. */
export function fuzzImport({ runs, seed }: { runs: number; seed?: number }): FuzzTally {
  const tally: Tally = { inputs: 0, entries: 0, imported: 0, counted: 0 };
  const share = Math.ceil(runs / 5);
  const options = { numRuns: share, ...(seed === undefined ? {} : { seed }) };
  const hold = <Input>(arbitrary: fc.Arbitrary<Input>, check: (input: Input, tally: Tally) => void) =>
    fc.assert(
      fc.property(arbitrary, (input) => {
        tally.inputs++;
        check(input, tally);
      }),
      options,
    );
  hold(fc.tuple(settingsFile, provider), ([file, name], sum) => {
    const { text, markers } = print(file);
    checkMarkers(checkSource({ provider: name, path: "f", text, kind: "json" }, sum), markers);
  });
  hold(fc.tuple(shellText, provider), ([command, name], sum) => {
    const handler = { type: "command", command };
    const text = JSON.stringify({ hooks: { Stop: [{ hooks: [handler] }] } });
    const { entries } = checkSource({ provider: name, path: "f", text, kind: "json" }, sum);
    if (entries.length !== 1) throw new Error(`one command became ${entries.length} entries`);
    checkArgv(command, entries[0] as ReportEntry);
  });
  // Twice the share: these are the files people have.
  for (const mangled of [mangledBytes, mangledBytes])
    hold(fc.tuple(mangled, provider), ([{ bytes, kind }, name], sum) => {
      const text = decodeSource(bytes);
      if (text !== undefined) checkSource({ provider: name, path: "f", text, kind }, sum);
    });
  hold(
    fc.tuple(garbage, provider, fc.constantFrom<FileKind>("json", "toml", "frontmatter")),
    (input, sum) => {
      const [text, name, kind] = input;
      checkSource({ provider: name, path: "f", text, kind }, sum);
    },
  );
  return tally;
}

const provider = fc.constantFrom<Provider>("claude", "codex");

// --- promises

function checkSource(source: HookSource, tally: Tally): FileReport {
  const report = importHooks(source);
  const { entries, error } = report;
  if (error !== undefined && entries.length > 0) throw new Error("a file that cannot be read has entries");
  if (source.kind === "json") checkJson(source.text, report);
  const lines = source.text.split("\n").length;
  for (const entry of entries) checkEntry(entry, lines, source.provider);
  const expected = countEntries(source);
  if (expected !== undefined && error === undefined) {
    tally.counted++;
    if (entries.length !== expected)
      throw new Error(
        `${expected} entries in, ${entries.length} reported:\n${JSON.stringify(report, null, 1)}`,
      );
  }
  tally.entries += entries.length;
  tally.imported += entries.filter(({ verdict }) => verdict === "imported").length;
  return report;
}

/** What is read without a note is JSON to others too, and what is JSON to others is read. */
function checkJson(text: string, { error, notes }: FileReport): void {
  let isJson = true;
  try {
    JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    isJson = false;
  }
  if (isJson && error?.message.startsWith("is not valid JSON") === true)
    throw new Error(`JSON is refused: ${error.message}`);
  const isTolerated = notes.some((note) => /^(?:comments|trailing commas) were tolerated/.test(note));
  if (!isJson && error === undefined && !isTolerated)
    throw new Error("what is not JSON is read without a note");
}

function checkEntry(report: ReportEntry, lines: number, name: Provider): void {
  const { verdict, path, line, reason, entry, event, matcher } = report;
  const broken = (what: string) => new Error(`${what}: ${JSON.stringify(report)}`);
  if (path === "" || !(line >= 1 && line <= lines)) throw broken("no place");
  if ((verdict === "imported") !== (entry !== undefined)) throw broken("imported and entry disagree");
  if ((verdict === "imported") !== (reason === undefined)) throw broken("imported and reason disagree");
  if (reason?.trim() === "") throw broken("an empty reason");
  if (entry === undefined) return;
  if (entry.source !== `imported:${name}`) throw broken("no source");
  const group = { ...(matcher === undefined ? {} : { matcher }), hooks: [entry] };
  const { issues } = validateDeclaration({ [event as string]: [group] });
  if (issues.some(({ code }) => code !== "deadline_invalid"))
    throw broken(`does not load: ${JSON.stringify(issues)}`);
  const own = ["CLAUDE_PLUGIN_ROOT", ...(name === "claude" ? ["CLAUDE_PROJECT_DIR"] : ["PLUGIN_ROOT"])];
  for (const word of entry.command)
    if (
      own.some((variable) => word.includes(`\${${variable}}`) || new RegExp(`\\$${variable}\\b`).test(word))
    )
      throw broken("a placeholder of the host is left");
}

/** Without quotes and blanks, and with one name for each placeholder, the text and the argv must be the same characters. */
function checkArgv(command: string, { entry }: ReportEntry): void {
  if (entry !== undefined && bare(entry.command.join("")) !== bare(command))
    throw new Error(`${JSON.stringify(command)} became ${JSON.stringify(entry.command)}`);
}

function bare(text: string): string {
  return text
    .replaceAll("$(git rev-parse --show-toplevel)", "{project_dir}")
    .replaceAll(/\$(?:\{CLAUDE_PROJECT_DIR\}|CLAUDE_PROJECT_DIR\b)/g, "{project_dir}")
    .replaceAll(/\$(?:\{CLAUDE_PLUGIN_ROOT\}|CLAUDE_PLUGIN_ROOT\b)/g, "{plugin_root}")
    .replaceAll(/\{home\}|\$\{HOME\}|\$HOME\b/g, "~")
    .replaceAll(/["' \t]/g, "");
}

function checkMarkers({ entries, error }: FileReport, markers: readonly string[]): void {
  if (error !== undefined) throw new Error(`a file that is JSON cannot be read: ${error.message}`);
  for (const marker of markers) {
    const holders = entries.filter(({ original }) => original.includes(`"${marker}"`));
    if (holders.length !== 1) throw new Error(`${marker} is in ${holders.length} entries`);
  }
}
