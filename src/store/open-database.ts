// Opens the database file of a store: ours alone, in WAL mode, with all migrations applied. Must never turn a file that is something else
// into a store, and never migrate what it was asked only to read.

import { chmodSync, closeSync, lstatSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { AgentHooksRefused } from "../errors.ts";
import { makeDirectoriesNow } from "../make-directories.ts";
import { describeForeign, refuseFile } from "../receipts/own-file.ts";
import { type Database, type OpenDatabase, refuse as refuseDriver } from "./load-driver.ts";
import { MIGRATIONS, MIGRATIONS_TABLE } from "./migrations.ts";

/** Between two tries to switch a database to WAL while another process opens it. */
const RETRY_MS = 10;

export interface OpenOptions {
  /** Absolute. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly readOnly: boolean;
}

/** Rejects with AgentHooksRefused: `receipts_unwritable` or, to be read only, `receipts_unreadable` for the file, `store_unavailable` for what is in it. */
export async function openDatabase(Driver: OpenDatabase, options: OpenOptions): Promise<Database> {
  const { path, busyTimeoutMs, readOnly } = options;
  prepareFile(options);
  let database: Database | undefined;
  try {
    database = openFile(Driver, options);
    // The driver's own busy timeout does not cover this switch.
    if (!readOnly) await switchToWal(database, busyTimeoutMs);
    database.pragma("synchronous = NORMAL");
    database.pragma("foreign_keys = ON");
    migrate(database, options);
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof AgentHooksRefused) throw cause;
    throw explain(cause, path);
  }
}

/** A file that is there is only looked at: closing a descriptor of it would drop the locks of another store of this process. */
function prepareFile({ path, readOnly }: OpenOptions): void {
  const code = readOnly ? "receipts_unreadable" : "receipts_unwritable";
  const hint = readOnly ? "name a store of yours" : "name a file in a folder that you may write";
  const refuse = (message: string, cause?: unknown) => refuseFile(code, path, { message, hint, cause });
  try {
    if (!readOnly) makeEmptyFile(path);
    const stats = lstatSync(path);
    const problem = describeForeign(stats);
    if (problem !== undefined) throw refuse(problem);
    if (!readOnly && (stats.mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch (cause) {
    if (cause instanceof AgentHooksRefused) throw cause;
    throw refuse(readOnly ? "cannot be opened" : "cannot be made or opened", cause);
  }
}

/** SQLite would make it as the umask says; its companions (-wal, -shm) get the mode of the file. */
function makeEmptyFile(path: string): void {
  makeDirectoriesNow(dirname(path));
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function openFile(Driver: OpenDatabase, { path, busyTimeoutMs, readOnly }: OpenOptions): Database {
  try {
    return new Driver(path, { timeout: busyTimeoutMs, readonly: readOnly, fileMustExist: true });
  } catch (cause) {
    // Its native part is loaded by the first database.
    if (sqliteCode(cause) === undefined) throw refuseDriver("its native part cannot be loaded", cause);
    throw cause;
  }
}

async function switchToWal(database: Database, busyTimeoutMs: number): Promise<void> {
  const endsAt = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      database.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      const code = sqliteCode(error) ?? "";
      if (code.startsWith("SQLITE_READONLY")) return; // is told when something is written
      if (!code.startsWith("SQLITE_BUSY") || performance.now() >= endsAt) throw error;
    }
    await wait(RETRY_MS);
  }
}

/** In one transaction that is exclusive from its first look: of two processes the second finds it done. */
function migrate(database: Database, { path, readOnly }: OpenOptions): void {
  if (missingMigrations(database, path).length === 0) return;
  if (readOnly)
    throw refuseFile("store_unavailable", path, {
      message: "holds no receipts of this version",
      hint: "a program that writes to it brings it up to date",
    });
  database
    .transaction(() => {
      database.exec(MIGRATIONS_TABLE);
      for (const { id, sql } of missingMigrations(database, path)) {
        for (const statement of sql) database.exec(statement);
        database
          .prepare("INSERT INTO schema_migrations (id, applied_at) VALUES (?, ?)")
          .run(id, new Date().toISOString());
      }
    })
    .immediate();
}

function missingMigrations(database: Database, path: string): readonly (typeof MIGRATIONS)[number][] {
  const hasTable =
    database
      .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'")
      .get() !== undefined;
  if (!hasTable) return MIGRATIONS;
  const applied = database
    .prepare<[], { id: string }>("SELECT id FROM schema_migrations")
    .all()
    .map(({ id }) => id);
  const unknown = applied.filter((id) => MIGRATIONS.every((one) => one.id !== id));
  if (unknown.length > 0)
    throw refuseFile("store_unavailable", path, {
      message: `was written by a newer version: migration ${unknown.map((id) => JSON.stringify(id)).join(", ")} is not known here`,
      hint: "update agent-bridle, or use another file",
    });
  return MIGRATIONS.filter(({ id }) => !applied.includes(id));
}

function explain(cause: unknown, path: string): AgentHooksRefused {
  const code = sqliteCode(cause) ?? "";
  if (code === "SQLITE_NOTADB")
    return refuseFile("store_unavailable", path, {
      message: "is no SQLite database",
      hint: "name another file; this one was not touched",
      cause,
    });
  if (code.startsWith("SQLITE_BUSY"))
    return refuseFile("store_unavailable", path, {
      message: "is locked by another program",
      hint: "try again, or raise busyTimeoutMs",
      cause,
    });
  return refuseFile("store_unavailable", path, {
    message: "cannot be used as a store",
    hint: "look at the file and at its folder, or name another one",
    cause,
  });
}

/** Undefined for an error that is not SQLite's. */
export function sqliteCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : undefined;
}
