// Where receipts are read from: a file of lines, a folder of them, or an SQLite store. Reads as it goes along; what cannot be read is counted.

import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { AgentHooksRefused, formatIssue, readReceipts, receiptsDirectory } from "../../index.ts";
import type { RowReading, SqliteReceiptStore } from "../../store/index.ts";
import { createEntryReader, type Entry, readHostLine } from "./entry.ts";
import type { Filters } from "./filters.ts";

/** An id of a run or of a session, with the files that hold lines of it; none for a store. */
export type FoundIds = Map<string, Set<string>>;

export interface Source {
  /** As a person would name it. */
  readonly name: string;
  /** Absolute. All that is read, and what belongs to it, whether it is there or not: nothing of it may be written over. */
  readonly files: readonly string[];
  /** The folder whose `.jsonl` files are read. */
  readonly folder?: string;
  /** What could not be read so far, a line each. */
  readonly problems: readonly string[];
  /** A source that can uses the filters to read less; entries that are not meant may come all the same. */
  entries(filters: Filters): AsyncGenerator<Entry, void>;
  /** Ids that begin so; of very many only some, but an id that is the whole text is among them. */
  findIds(start: string): Promise<FoundIds>;
  /** Of one run or session. */
  entriesOf(id: string, files: ReadonlySet<string>): AsyncGenerator<Entry, void>;
  close(): void;
}

const SQLITE_HEAD = "SQLite format 3\0";
/** SQLite's own files beside a database: receipts are in them too. */
const COMPANIONS = ["-wal", "-shm", "-journal"];
/** Ids that are kept to be shown. */
const MOST_IDS = 20;

/** @param from undefined: the receipts of this user's runs; none is no error. */
export async function openSource(from: string | undefined): Promise<Source> {
  if (from === undefined) {
    const folder = receiptsDirectory();
    return createFileSource(folder, await listFiles(folder, { mayLack: true }));
  }
  const path = resolve(from);
  // A folder may be reached through a link: its files are looked at one by one.
  if ((await look(path, stat)).isDirectory())
    return createFileSource(path, await listFiles(path, { mayLack: false }));
  return (await isSqlite(path)) ? openStoreSource(path) : createFileSource(path, [path]);
}

function createFileSource(name: string, files: readonly string[]): Source {
  /** One a file, the last: a file may be read twice. */
  const problems = new Map<string, string>();
  const isOneFile = files.length === 1 && files[0] === name;

  async function* read(file: string): AsyncGenerator<Entry, void> {
    const lines = readReceipts(file);
    const toEntry = createEntryReader();
    try {
      for await (const line of lines) yield toEntry(line);
    } catch (error) {
      // One file of a folder does not keep the others from being read.
      if (isOneFile || !(error instanceof AgentHooksRefused)) throw error;
      problems.set(file, error.issues.map(formatIssue).join("; "));
    } finally {
      if (lines.unreadable > 0) problems.set(file, `${file}: ${lines.unreadable} line(s) could not be read`);
    }
  }
  async function* readAll(chosen: Iterable<string>): AsyncGenerator<Entry, void> {
    for (const file of chosen) yield* read(file);
  }

  return {
    name,
    files,
    ...(isOneFile ? {} : { folder: name }),
    get problems() {
      return [...problems.values()];
    },
    entries: () => readAll(files),
    async *entriesOf(id, chosen) {
      for await (const entry of readAll(chosen))
        if (entry.runId === id || entry.sessionId === id) yield entry;
    },
    async findIds(start) {
      const found: FoundIds = new Map();
      for (const file of files) {
        for await (const { of, runId, sessionId } of read(file)) {
          for (const id of [runId, sessionId])
            if (id?.startsWith(start) === true) note(found, id, start, file);
          // A run's own file holds no other run, and no other session.
          if (of === "run" && sessionId !== undefined && basename(file) === `${runId}.jsonl`) break;
        }
      }
      return found;
    },
    close() {},
  };
}

function note(found: FoundIds, id: string, start: string, file: string): void {
  const files = found.get(id);
  if (files !== undefined) files.add(file);
  else if (found.size < MOST_IDS || id === start) found.set(id, new Set([file]));
}

async function openStoreSource(path: string): Promise<Source> {
  // Only here: whoever has no SQLite store needs no driver.
  const { openReceiptStore } = await import("../../store/index.ts");
  const store = await openReceiptStore({ path, readOnly: true });
  const passed = { hook: 0, hook_execution: 0 };
  /** Also when the reader goes away in the middle. */
  function* counted<T>(rows: RowReading<T>, table: keyof typeof passed): Generator<T, void> {
    try {
      yield* rows;
    } finally {
      passed[table] += rows.unreadable;
    }
  }
  return {
    name: path,
    files: [path, ...COMPANIONS.map((ending) => `${path}${ending}`)],
    get problems() {
      return Object.entries(passed)
        .filter(([, count]) => count > 0)
        .map(([table, count]) => `${path}: ${count} row(s) of ${table} could not be read`);
    },
    async *entries({ event, hook, decision, status, tool, session, owner, since, until }) {
      const shared = {
        ...(event === undefined ? {} : { event }),
        ...(owner === undefined ? {} : { owner_id: owner }),
      };
      const registered = { ...shared, ...(hook === undefined ? {} : { id: hook }) } as HookFilters;
      for (const line of counted(store.hooks(registered), "hook"))
        yield readHostLine({ kind: "hook", ...line });
      const filters = {
        ...shared,
        ...(hook === undefined ? {} : { hook }),
        ...(decision === undefined ? {} : { decision }),
        ...(status === undefined ? {} : { status }),
        ...(tool === undefined ? {} : { tool_name: tool }),
        ...(session === undefined ? {} : { session_id: session }),
        ...(since === undefined ? {} : { since }),
        ...(until === undefined ? {} : { until }),
      } as ReceiptFilters;
      for (const line of counted(store.query(filters), "hook_execution"))
        yield readHostLine({ kind: "execution", ...line });
    },
    async *entriesOf(id) {
      for (const line of counted(store.query({ run_id: id }), "hook_execution"))
        yield readHostLine({ kind: "execution", ...line });
      for (const line of counted(store.query({ session_id: id }), "hook_execution"))
        if (line.run_id !== id) yield readHostLine({ kind: "execution", ...line });
    },
    async findIds(start) {
      const { runs, sessions } = store.findIds(start);
      return new Map([...runs, ...sessions].map((id) => [id, new Set<string>()]));
    },
    close: () => store.close(),
  };
}

type ReceiptFilters = NonNullable<Parameters<SqliteReceiptStore["query"]>[0]>;
type HookFilters = NonNullable<Parameters<SqliteReceiptStore["hooks"]>[0]>;

/** `.jsonl` files of a folder, the one that was written to last at the end. */
async function listFiles(folder: string, { mayLack }: { mayLack: boolean }): Promise<string[]> {
  try {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
    const aged: { path: string; mtimeMs: number }[] = [];
    for (const name of names) {
      const path = join(folder, name);
      const stats = await lstat(path).catch(() => undefined); // removed since: nothing is missing
      if (stats !== undefined) aged.push({ path, mtimeMs: stats.mtimeMs });
    }
    aged.sort((one, other) => one.mtimeMs - other.mtimeMs || (one.path < other.path ? -1 : 1));
    return aged.map(({ path }) => path);
  } catch (cause) {
    if (mayLack && (cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw unreadable(folder, cause);
  }
}

async function look(path: string, by: (path: string) => Promise<Stats>): Promise<Stats> {
  try {
    return await by(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** What is no regular file is left to whoever reads it to refuse. */
async function isSqlite(path: string): Promise<boolean> {
  if (!(await look(path, lstat)).isFile()) return false;
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(SQLITE_HEAD.length),
        0,
        SQLITE_HEAD.length,
        0,
      );
      return buffer.toString("latin1", 0, bytesRead) === SQLITE_HEAD;
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function unreadable(path: string, cause: unknown): AgentHooksRefused {
  const message = `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
  const hint = "name a file of a host's receipts, an SQLite store, or a folder of .jsonl files";
  return new AgentHooksRefused([{ code: "receipts_unreadable", path, message, hint }], { cause });
}
