// bridle import: brings the hooks of a claude or codex configuration into a declaration, with a report of each.

import type { Command } from "commander";
import {
  AgentHooksRefused,
  DIVERGENCES,
  type FileReport,
  type ImportReport,
  importFiles,
  type Provider,
  type ReportEntry,
  toOneLine,
} from "../index.ts";
import { parseProvider } from "./compile-file.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { reportError } from "./report-error.ts";

interface ImportFlags {
  readonly write?: boolean;
  readonly wrap?: boolean;
  readonly user?: boolean;
  readonly json?: boolean;
}

/** How much of a command's own text is shown, in characters. */
const SHOWN = 200;

export function addImportCommand(program: Command): void {
  program
    .command("import")
    .description(
      "bring the hooks of a claude or codex configuration into .lionagi/settings.yaml; a dry run unless --write",
    )
    .argument("<provider>", "claude or codex: whose files these are", parseProvider)
    .argument(
      "[path...]",
      "files, or folders of projects and plugins (default: the project's own configuration)",
    )
    .option("--write", "write what can be imported")
    .option(
      "--wrap",
      "put shell commands that cannot be translated into files below .lionagi/hooks/imported, and import those",
    )
    .option("--user", "the user's files, into ~/.lionagi/settings.yaml")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 everything was imported or there was nothing; 1 something was rejected; 2 a file cannot be read, so nothing was written.

Examples:
  bridle import claude
  bridle import claude --write
  bridle import codex .codex/hooks.json --wrap --write
  bridle import claude path/to/plugin`,
    )
    .action(async (provider: Provider, paths: string[], { json = false, ...flags }: ImportFlags) => {
      const isWriting = flags.write === true;
      let report: ImportReport;
      try {
        report = await importFiles({ provider, paths, ...flags });
      } catch (error) {
        // The settings file cannot be read, locked or written: it is as it was.
        if (!(error instanceof AgentHooksRefused) && !isSystemError(error)) throw error;
        reportError(error, { json });
        process.exitCode = EXIT_CODES.unusable;
        return;
      }
      if (json) process.stdout.write(`${JSON.stringify({ type: "import", write: isWriting, ...report })}\n`);
      else process.stdout.write(formatImport(report, { isWriting }));
      process.exitCode = exitCodeOfImport(report);
    });
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

export function exitCodeOfImport({ counts }: Pick<ImportReport, "counts">): number {
  if (counts.errors > 0) return EXIT_CODES.unusable;
  return counts.rejected > 0 ? EXIT_CODES.failed : EXIT_CODES.success;
}

/** A block a file, a block an entry, the divergences that apply, and a line of counts. */
export function formatImport(report: ImportReport, { isWriting }: { isWriting: boolean }): string {
  const { files, counts, target, written } = report;
  const lines = files.flatMap((file) => formatFile(file));
  if (files.length === 0) lines.push("no file with hooks was found", "");
  if (counts.imported > 0) lines.push(...formatDivergences(files));
  const { entries, imported, rejected, note, errors } = counts;
  const sum = `${entries} ${entries === 1 ? "entry" : "entries"}: ${imported} imported, ${rejected} rejected, ${note} noted`;
  lines.push(errors === 0 ? sum : `${sum}; ${errors} file(s) cannot be read`);
  lines.push(describeWritten({ isWriting, imported, errors, target, written }));
  return `${lines.join("\n")}\n`;
}

function describeWritten({
  isWriting,
  imported,
  errors,
  target,
  written,
}: {
  isWriting: boolean;
  imported: number;
  errors: number;
  target: string;
  written: readonly string[];
}): string {
  if (isWriting && errors > 0) return "nothing was written: repair or leave out what cannot be read";
  if (written.length > 0) return `written: ${written.map(toOneLine).join(", ")}`;
  if (isWriting || imported === 0) return `nothing to write to ${toOneLine(target)}`;
  return `dry run: --write adds ${imported} to ${toOneLine(target)}`;
}

function formatFile({ path, entries, notes, error }: FileReport): string[] {
  const lines = [toOneLine(path)];
  if (error !== undefined) {
    const { line, column, message } = error;
    const place =
      line === undefined ? "" : ` (line ${line}${column === undefined ? "" : `, column ${column}`})`;
    lines.push(`  unusable: ${toOneLine(message)}${place}`);
  }
  for (const note of notes) lines.push(`  note: ${toOneLine(note)}`);
  for (const entry of entries) lines.push("", ...formatEntry(entry));
  return [...lines, ""];
}

function formatEntry(entry: ReportEntry): string[] {
  const { verdict, path, line, matcher, reason, translations, warnings, divergences, original } = entry;
  const lines = [
    `  ${verdict.padEnd(8)}  line ${line}  ${toOneLine(path)}${matcher === undefined ? "" : `  matcher ${toOneLine(matcher)}`}`,
  ];
  const add = (name: string, text: string) => lines.push(`    ${name.padEnd(8)}  ${toOneLine(text)}`);
  if (reason !== undefined) add(verdict === "note" ? "note" : "because", reason);
  if (verdict === "rejected") add("text", cut(original));
  if (entry.entry !== undefined && verdict !== "rejected") add("argv", JSON.stringify(entry.entry.command));
  if (verdict === "rejected") {
    if (entry.wrap !== undefined)
      add("hint", "--wrap puts this text into a file of its own and imports that");
    return lines;
  }
  for (const translation of translations) add("step", translation);
  for (const warning of warnings) add("warning", warning);
  if (divergences.length > 0) add("differs", divergences.join(" "));
  return lines;
}

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function formatDivergences(files: readonly FileReport[]): string[] {
  const imported = files.flatMap(({ entries }) => entries.filter(({ verdict }) => verdict === "imported"));
  const ids = new Set(imported.flatMap(({ divergences }) => divergences));
  const provider = files[0]?.provider ?? "claude";
  const rows = DIVERGENCES.filter(({ id }) => ids.has(id)).map(
    (row) => `  ${row.id.padEnd(7)} ${row.subject}: ${provider}: ${row[provider]}; here: ${row.bridle}`,
  );
  return ["imported; verify against profile v1 (docs/PROFILE.md, Divergences):", ...rows, ""];
}
