// The files of the journal: one a run, 0600, appended line by line, each important line on the disk before the run goes on. Ended ones
// move to a folder of their own, of which the newest are kept.

import { constants, lstatSync, type Stats } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { OWNER_PATTERN, ownerName, removeAbandoned } from "../exec/owner-name.ts";
import { isNamed } from "../look.ts";
import { settleAll } from "../settle-all.ts";
import { type JournalLine, parseJournal, type RunRecord } from "./record.ts";
import { reach } from "./steps.ts";

/** Ended journals that are kept, the newest; looked after at every 64th end of a run. */
export const ENDED_KEPT = 256;
const PRUNE_EVERY = 64;
/** A lock of a journal that was not touched for this long belonged to a recoverer that is dead. */
export const LOCK_STALE_MS = 20_000;
/** A longer file is no journal of ours. */
const MAX_BYTES = 4 * 1024 * 1024;

export function journalDirectory(stateDir: string): string {
  return join(stateDir, "journal");
}

export function endedDirectory(stateDir: string): string {
  return join(journalDirectory(stateDir), "ended");
}

export function journalPath(stateDir: string, runId: string): string {
  return join(journalDirectory(stateDir), `${runId}.jsonl`);
}

/** The file of a run that is being started: it stays open until then, because a start appends to it several times. */
export interface OpenJournal {
  /** Resolves when the file's name is on the disk, and every line that was appended before. */
  sync(): Promise<void>;
  /** In the order of calls; resolves when the line is written, and not yet on the disk. */
  append(line: JournalLine): Promise<void>;
  /** Lets go of it when its name is on the disk. May be called again. */
  close(): Promise<void>;
}

/** A file with its first line on the disk, which is no run's journal before it has its name. */
export interface BegunJournal {
  /** Gives it the run's name. Rejects, and leaves nothing, when there is one of this name. */
  name(): Promise<OpenJournal>;
  /** Removes it. Never rejects: what stays is removed by recovery. */
  discard(): Promise<void>;
}

/** Rejects when the folder is not ours alone; nothing is left then. */
export async function beginJournal(
  stateDir: string,
  runId: string,
  line: JournalLine,
): Promise<BegunJournal> {
  const folder = journalDirectory(stateDir);
  const problem = describeUntrusted(await lookAtFolder(folder), "directory");
  if (problem !== undefined) throw new Error(`${folder} ${problem}`);
  const unfinished = join(folder, `${runId}.${ownerName()}.new`);
  const directory = open(folder, constants.O_RDONLY);
  directory.catch(() => {}); // not unhandled: it is awaited when there is a name to be synced
  let file: FileHandle | undefined;
  const discard = async () => {
    await rm(unfinished, { force: true }).catch(() => {});
    await file?.close().catch(() => {}); // nothing of it is wanted
    await directory.then((it) => it.close()).catch(() => {}); // nothing was written through it
  };
  try {
    const opened = await open(unfinished, "ax", 0o600);
    file = opened;
    await opened.writeFile(encodeLine(line));
    await opened.datasync();
    reach("journal_written", runId);
    return {
      async name() {
        try {
          await nameJournal(unfinished, journalPath(stateDir, runId));
        } catch (error) {
          await discard();
          throw error;
        }
        return toOpenJournal(opened, async () => {
          // What may be left behind, should the machine stop now, is the other name of the same file: recovery removes it.
          await settleAll([syncFolder(directory), rm(unfinished, { force: true })]);
        });
      },
      discard,
    };
  } catch (error) {
    await discard();
    throw error;
  }
}

async function syncFolder(opening: Promise<FileHandle>): Promise<void> {
  const folder = await opening;
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function toOpenJournal(file: FileHandle, syncName: () => Promise<void>): OpenJournal {
  let closing: Promise<void> | undefined;
  let naming: Promise<void> | undefined;
  let written: Promise<void> = Promise.resolve();
  /** Of the lines so far; the first one was on the disk before. */
  let synced: Promise<void> | undefined = Promise.resolve();
  return {
    append(line) {
      synced = undefined;
      // One after the other: what does not fit is taken back.
      const writing = written.then(() => writeLine(file, line));
      written = writing.catch(() => {}); // the next line is not to blame
      return writing;
    },
    async sync() {
      // First the file: a disk that writes down its newest line writes down its name with it.
      await written;
      synced ??= file.datasync();
      await synced;
      naming ??= syncName();
      await naming;
    },
    close() {
      naming ??= syncName();
      closing ??= naming.finally(() => file.close());
      return closing;
    },
  };
}

/** Nearly always it is there. */
async function lookAtFolder(folder: string): Promise<Stats> {
  if (!isNamed(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return lstatSync(folder);
}

const UNFINISHED = new RegExp(`^[A-Za-z0-9_-]+\\.(${OWNER_PATTERN})\\.new$`);

/** Removes the records that killed programs had begun: of runs that were never admitted. */
export async function removeUnfinished(stateDir: string): Promise<void> {
  await removeAbandoned(journalDirectory(stateDir), UNFINISHED);
}

/** Rejects with EEXIST when there is one of this name. */
async function nameJournal(unfinished: string, path: string): Promise<void> {
  try {
    await link(unfinished, path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) throw error;
    // A file system without hard links. The name is a run's own id: nobody else makes it between these two.
    const there = await lstat(path).catch(() => undefined);
    if (there !== undefined)
      throw Object.assign(new Error(`${path} exists`, { cause: error }), { code: "EEXIST" });
    await rename(unfinished, path);
  }
}

/**
 * Appends one line in one write. With `durable` it resolves when the line is on the disk. A line that did not fit is taken back: what is
 * there stays readable.
 */
export async function appendLine(
  stateDir: string,
  runId: string,
  line: JournalLine,
  { durable }: { durable: boolean },
): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;
  const file = await open(journalPath(stateDir, runId), flags);
  try {
    await writeLine(file, line);
    if (durable) await file.datasync();
  } finally {
    await file.close();
  }
}

async function writeLine(file: FileHandle, line: JournalLine): Promise<void> {
  const bytes = Buffer.from(encodeLine(line));
  const { size } = await file.stat();
  const { bytesWritten } = await file.write(bytes);
  if (bytesWritten !== bytes.length) {
    await file.truncate(size);
    throw new Error("the line was written in part");
  }
}

function encodeLine(line: JournalLine): string {
  return `${JSON.stringify(line)}\n`;
}

let archived = 0;

/** Moves an ended journal out of the way. One that is gone was moved by somebody else. */
export async function archiveJournal(stateDir: string, runId: string): Promise<void> {
  const folder = endedDirectory(stateDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await rename(journalPath(stateDir, runId), join(folder, `${runId}.jsonl`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  if (archived++ % PRUNE_EVERY === 0) await pruneEnded(stateDir);
}

/** Removes all but the newest ended journals. */
export async function pruneEnded(stateDir: string, kept = ENDED_KEPT): Promise<void> {
  const folder = endedDirectory(stateDir);
  const aged: { path: string; mtimeMs: number }[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => undefined); // another supervisor prunes too
    if (stats?.isFile() === true) aged.push({ path, mtimeMs: stats.mtimeMs });
  }
  aged.sort((one, other) => other.mtimeMs - one.mtimeMs);
  await Promise.all(aged.slice(kept).map(({ path }) => rm(path, { force: true })));
}

export interface FoundJournal {
  readonly runId: string;
  readonly path: string;
  /** What is wrong with it, when it may not be acted upon. */
  readonly record: RunRecord | { readonly problem: string };
}

/** Every journal of a folder, sorted by name; none when there is no folder. What cannot be trusted has a problem in place of a record. */
export async function readJournals(folder: string): Promise<FoundJournal[]> {
  let names: string[];
  try {
    const problem = describeUntrusted(await lstat(folder), "directory");
    if (problem !== undefined) return [{ runId: "", path: folder, record: { problem } }];
    names = await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    return [{ runId: "", path: folder, record: { problem: `cannot be read: ${String(error)}` } }];
  }
  const journals = names.filter((name) => name.endsWith(".jsonl")).sort();
  const found = await Promise.all(journals.map((name) => readJournal(join(folder, name))));
  return found.filter((it) => it !== undefined);
}

/** Undefined when there is no such file. */
export async function readJournal(path: string): Promise<FoundJournal | undefined> {
  const runId = basename(path, ".jsonl");
  const withProblem = (problem: string): FoundJournal => ({ runId, path, record: { problem } });
  try {
    const before = describeUntrusted(await lstat(path), "file");
    if (before !== undefined) return withProblem(before);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      const problem = describeUntrusted(stats, "file");
      if (problem !== undefined) return withProblem(problem);
      if (stats.size > MAX_BYTES) return withProblem(`is too long: ${stats.size} bytes`);
      const record = parseJournal(await file.readFile("utf8"), runId);
      return typeof record === "string" ? withProblem(record) : { runId, path, record };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return withProblem(`cannot be read: ${(error as Error).message}`);
  }
}

/** Another user's word about processes to end and programs to run is not taken. */
function describeUntrusted(stats: Stats, wanted: "file" | "directory"): string | undefined {
  if (wanted === "file" ? !stats.isFile() : !stats.isDirectory()) return `is no ${wanted}`;
  if (stats.uid !== process.getuid?.()) return `belongs to uid ${stats.uid}`;
  if ((stats.mode & 0o022) !== 0)
    return `may be written by others (mode ${(stats.mode & 0o777).toString(8)})`;
  return undefined;
}
