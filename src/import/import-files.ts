// The import as a whole: finds the files, reads their hooks, looks at the machine, and, when asked, writes what can be imported.
// Writes nothing when a file cannot be read: half an import would look like a whole one.

import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Document } from "yaml";
import { editSettings, readSettings } from "../declaration/edit-settings.ts";
import type { Provider } from "../profile/events.ts";
import { findProjectRoot, findSources, pluginRootOf, readSource } from "./find-sources.ts";
import { importHooks } from "./import-hooks.ts";
import { inspectCommand } from "./inspect-command.ts";
import type { FileReport, ReportEntry, Verdict } from "./report-types.ts";
import { describeOtherText, type WrapFile, wrapShellText, writeWrapFile } from "./wrap-shell-text.ts";
import { addEntry, findPresent, indexEntries, type NewEntry } from "./write-entries.ts";

export interface ImportOptions {
  readonly provider: Provider;
  /** Files and folders. Default: the usual places of the project, or with `user` of the user. */
  readonly paths?: readonly string[];
  /** Default: the working directory. */
  readonly cwd?: string;
  /** Default: the user's home. */
  readonly home?: string;
  /** Default: `process.env`. Read: `PATH`, `CLAUDE_CONFIG_DIR`, `CODEX_HOME`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Into `~/.lionagi/settings.yaml`, from the user's files. Default false. */
  readonly user?: boolean;
  /** Default false: only the report. */
  readonly write?: boolean;
  /** Puts shell strings that cannot be translated into files and imports those. Default false. */
  readonly wrap?: boolean;
}

export interface ImportReport {
  readonly provider: Provider;
  /** The settings file that is, or would be, written. */
  readonly target: string;
  readonly files: readonly FileReport[];
  readonly counts: Readonly<Record<Verdict, number>> & { readonly entries: number; readonly errors: number };
  /** Files that this import made or changed. */
  readonly written: readonly string[];
}

/**
 * Throws `AgentHooksRefused` (`declaration_invalid`) when the settings file cannot be read as one; what the system says about a settings file
 * that cannot be written is thrown as it is. What is wrong with a file to import is in the report.
 */
export async function importFiles({
  provider,
  paths = [],
  cwd = process.cwd(),
  home = homedir(),
  env = process.env,
  user = false,
  write = false,
  wrap = false,
}: ImportOptions): Promise<ImportReport> {
  const root = user ? home : findProjectRoot(cwd);
  const target = join(root, ".lionagi", "settings.yaml");
  const found = await findSources({ provider, paths, cwd: resolve(cwd), root, home, isUser: user, env });
  const machine = { root: user ? resolve(cwd) : root, home, path: env.PATH ?? "" };
  const wrapFiles = new Map<ReportEntry, WrapFile>();
  const files: FileReport[] = [];
  for (const source of found) {
    const read = await readSource(source, provider);
    if (read === undefined) continue;
    if ("problem" in read) {
      files.push({ provider, path: source.path, entries: [], notes: [], error: { message: read.problem } });
      continue;
    }
    const report = importHooks(read);
    const entries: ReportEntry[] = [];
    for (const entry of report.entries) {
      const origin = originOf(source.path, entry, { root, home });
      const wrapped = wrap
        ? wrapShellText(entry, { settingsFolder: dirname(target), isUser: user, origin })
        : undefined;
      const looked =
        wrapped?.report ?? (await inspect(entry, { ...machine, pluginRoot: pluginRootOf(source.path) }));
      if (wrapped !== undefined) wrapFiles.set(looked, wrapped.file);
      entries.push(looked);
    }
    files.push({ ...report, notes: [...report.notes, ...placeNotes(source.path, provider)], entries });
  }
  const written: string[] = [];
  const settle = (document: Document.Parsed, isWriting: boolean) =>
    settleEntries(files, document, { root, home, target, wrapFiles, written, isWriting });
  const isUnusable = files.some(({ error }) => error !== undefined);
  const hasNew = files.some(({ entries }) => entries.some(({ verdict }) => verdict === "imported"));
  if (!write || isUnusable || !hasNew) {
    const { reports } = await settle(await readSettings(target), false);
    return summarize({ provider, target, files: reports, written });
  }
  let reports: readonly FileReport[] = files;
  try {
    const { isChanged, path } = await editSettings(target, async (document) => {
      const settled = await settle(document, true);
      ({ reports } = settled);
      return settled.hasAdded;
    });
    return summarize({ provider, target, files: reports, written: isChanged ? [path, ...written] : written });
  } catch (error) {
    // A wrapped text that no entry names is nobody's.
    await Promise.all(written.map((path) => rm(path, { force: true })));
    throw error;
  }
}

async function inspect(
  entry: ReportEntry,
  machine: Parameters<typeof inspectCommand>[1],
): Promise<ReportEntry> {
  if (entry.entry === undefined) return entry;
  return { ...entry, warnings: [...entry.warnings, ...(await inspectCommand(entry.entry.command, machine))] };
}

interface Settled {
  readonly reports: readonly FileReport[];
  readonly hasAdded: boolean;
}

/** Holds the entries against the document, in order, and adds what is not there. Without `isWriting` the document is a scratch copy. */
async function settleEntries(
  files: readonly FileReport[],
  document: Document.Parsed,
  context: {
    root: string;
    home: string;
    target: string;
    wrapFiles: ReadonlyMap<ReportEntry, WrapFile>;
    /** Paths of files made are added to it. */
    written: string[];
    isWriting: boolean;
  },
): Promise<Settled> {
  const { target, wrapFiles, written, isWriting } = context;
  const index = indexEntries(document);
  let hasAdded = false;
  const settleOne = async (path: string, report: ReportEntry): Promise<ReportEntry> => {
    const { verdict, event, matcher, entry } = report;
    if (verdict !== "imported" || event === undefined || entry === undefined) return report;
    const added: NewEntry = { event, matcher, entry, origin: originOf(path, report, context) };
    const present = findPresent(index, added);
    if (present !== undefined) {
      const differs = ["timeout", "on_failure"].filter((key) => present[key] !== Reflect.get(entry, key));
      const file = wrapFiles.get(report);
      const problem = file === undefined ? undefined : await describeOtherText(file);
      if (problem !== undefined)
        return { ...report, verdict: "rejected", reason: `already imported, but ${problem}` };
      const reason = `already imported${differs.length === 0 ? "" : `; its ${differs.join(" and ")} there differs and was kept`}`;
      return { ...report, verdict: "note", reason };
    }
    const file = wrapFiles.get(report);
    if (file !== undefined && isWriting) {
      const wrapped = await writeWrapFile(file);
      if ("problem" in wrapped) return { ...report, verdict: "rejected", reason: wrapped.problem };
      if (wrapped.isMade) written.push(file.path);
    }
    addEntry(document, index, added, target);
    hasAdded = true;
    return report;
  };
  const reports: FileReport[] = [];
  for (const file of files) {
    const entries: ReportEntry[] = [];
    for (const entry of file.entries) entries.push(await settleOne(file.path, entry));
    reports.push({ ...file, entries });
  }
  return { reports, hasAdded };
}

/** Short, and without a path of this machine where there is another way to say it: it is written into a file that others read. */
function originOf(
  path: string,
  { line, path: at }: ReportEntry,
  { root, home }: { root: string; home: string },
): string {
  const inRoot = relative(root, path);
  const inHome = relative(home, path);
  const isOutside = (name: string) => name.startsWith("..") || name === path;
  const shown = !isOutside(inRoot) ? inRoot : !isOutside(inHome) ? `~/${inHome}` : path;
  return `${shown}:${line} ${at}`;
}

function placeNotes(path: string, provider: Provider): string[] {
  const isStray =
    provider === "claude" && basename(path) === "hooks.json" && basename(dirname(path)) === ".claude";
  return isStray ? ["Claude Code does not read .claude/hooks.json: what stands here never ran"] : [];
}

function summarize(report: Omit<ImportReport, "counts">): ImportReport {
  const all = report.files.flatMap(({ entries }) => entries);
  const count = (wanted: Verdict) => all.filter(({ verdict }) => verdict === wanted).length;
  return {
    ...report,
    counts: {
      entries: all.length,
      imported: count("imported"),
      rejected: count("rejected"),
      note: count("note"),
      errors: report.files.filter(({ error }) => error !== undefined).length,
    },
  };
}
