// A host's receipts in an SQLite database. Each receipt is one statement that is done when `write` returns: a process that is killed loses
// at most the one in flight.

import { resolve } from "node:path";
import type { AgentHooksRefused } from "../errors.ts";
import type { HookReceipt, HookRecord, ReceiptStore } from "../host/receipt.ts";
import { checkPath, invalidOption, readOptions } from "../receipts/check-arguments.ts";
import { checkLine } from "../receipts/check-receipt.ts";
import { refuseFile } from "../receipts/own-file.ts";
import {
  type Conditions,
  type HookFilters,
  type ReceiptFilters,
  readHookFilters,
  readReceiptFilters,
} from "./filters.ts";
import { type Database, loadDriver } from "./load-driver.ts";
import { openDatabase, sqliteCode } from "./open-database.ts";
import { countUnreadable, type RowReading } from "./row-reading.ts";
import {
  type Cell,
  EXECUTION_COLUMNS,
  HOOK_COLUMNS,
  quoted,
  type Row,
  toCells,
  toHook,
  toReceipt,
} from "./rows.ts";

export interface ReceiptStoreOptions {
  /** Of the database file; a relative one is resolved against the working directory. */
  readonly path: string;
  /** How long a statement waits, and with it this process, while another one writes. In milliseconds. @default 5000 */
  readonly busyTimeoutMs?: number;
  /** Makes, changes and migrates nothing; `register` and `write` refuse. @default false */
  readonly readOnly?: boolean;
}

export interface SqliteReceiptStore extends ReceiptStore {
  /** Absolute. */
  readonly path: string;
  /** Adds a row to `hook`, to which the receipts of this hook that are written through this store will refer. */
  register(hook: HookRecord): void;
  /** Adds a row to `hook_execution`. An id that is there already is an error. */
  write(receipt: HookReceipt): void;
  /** Receipts by `started_at`, then in the order in which they were written; read a few at a time, also while others are written. */
  query(filters?: ReceiptFilters): RowReading<HookReceipt>;
  /** Registrations in the order in which they were made; a host that was started again made its own. */
  hooks(filters?: HookFilters): RowReading<HookRecord>;
  /** Ids of runs and of sessions that begin with a text, at most 20 of each. */
  findIds(start: string): { runs: string[]; sessions: string[] };
  /** Waits until what was written is on the disk. A second call does nothing. */
  close(): void;
}

/** Rows read at a time: while rows of a statement are outstanding, a database takes no others. */
const PAGE = 256;
const IDS_SHOWN = 20;
const BUSY_TIMEOUT_MS = 5_000;
const LONGEST_TIMEOUT_MS = 0x7fff_ffff;

/**
 * Opens the store, or makes it with the folders above it: 0600 in 0700, WAL. Needs `better-sqlite3@12` beside `agent-bridle`.
 *
 * @throws AgentHooksRefused `store_unavailable`: no driver, no database, one of a newer version, locked for longer than `busyTimeoutMs`;
 *   `receipts_unwritable` (`receipts_unreadable` with `readOnly`): a symbolic link, no regular file, another user's, cannot be made;
 *   `option_invalid`: an option, or a value of one, that cannot be used. `register` and `write` throw `receipts_unwritable`, and `option_invalid` for
 *   what is no hook or receipt; `query`, `hooks` and `findIds` throw `option_invalid` at once, and `receipts_unreadable` while they are read.
 * @example
 * const store = await openReceiptStore({ path: "state/receipts.sqlite" });
 * for (const { hook, started_at } of store.query({ decision: "deny" })) console.log(started_at, hook);
 */
export async function openReceiptStore(options: ReceiptStoreOptions): Promise<SqliteReceiptStore> {
  const given = readOptions(options, { what: "options", known: ["path", "busyTimeoutMs", "readOnly"] });
  const { busyTimeoutMs = BUSY_TIMEOUT_MS, readOnly = false } = given;
  const path = resolve(checkPath(given.path));
  if (!isTimeout(busyTimeoutMs))
    throw invalidOption("busyTimeoutMs", busyTimeoutMs, `a whole number from 0 to ${LONGEST_TIMEOUT_MS}`);
  if (typeof readOnly !== "boolean") throw invalidOption("readOnly", readOnly, "true or false");
  const database = await openDatabase(await loadDriver(), { path, busyTimeoutMs, readOnly });
  return createStore(database, path);
}

function isTimeout(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= LONGEST_TIMEOUT_MS;
}

function createStore(database: Database, path: string): SqliteReceiptStore {
  const insertHook = database.prepare(insertInto("hook", HOOK_COLUMNS));
  const insertReceipt = database.prepare(
    insertInto("hook_execution", [...EXECUTION_COLUMNS, "hook_registration"]),
  );
  const registrations = new Map<string, number | bigint>();
  const registrationOf = ({ owner_id, scope, hook }: HookReceipt) =>
    registrations.get(registrationKey(owner_id, scope, hook)) ??
    registrations.get(registrationKey(owner_id, undefined, hook)) ??
    null;
  const guard = <T>(what: string, run: () => T): T => {
    try {
      if (!database.open) throw new Error("the store is closed");
      return run();
    } catch (cause) {
      throw explainWrite(cause, path, what);
    }
  };
  return {
    path,
    register(given) {
      const hook = checkLine("hook", given, path);
      guard(`hook ${JSON.stringify(hook.id)}`, () => {
        const { lastInsertRowid } = insertHook.run(...toCells(hook, HOOK_COLUMNS));
        registrations.set(registrationKey(hook.owner_id, hook.scope, hook.id), lastInsertRowid);
      });
    },
    write(given) {
      const receipt = checkLine("execution", given, path);
      guard(`receipt ${JSON.stringify(receipt.id)}`, () => {
        insertReceipt.run(...toCells(receipt, EXECUTION_COLUMNS), registrationOf(receipt));
      });
    },
    query(filters = {}) {
      const conditions = readReceiptFilters(filters);
      return countUnreadable((skip) => readReceipts(database, path, conditions, skip));
    },
    hooks(filters = {}) {
      const conditions = readHookFilters(filters);
      return countUnreadable((skip) => readHooks(database, path, conditions, skip));
    },
    findIds(start) {
      if (typeof start !== "string") throw invalidOption("start", start, "a string");
      return {
        runs: findIds(database, path, "run_id", start),
        sessions: findIds(database, path, "session_id", start),
      };
    },
    close() {
      if (!database.open) return;
      try {
        // Puts the write-ahead log on the disk also while others have the database open.
        if (!database.readonly) database.pragma("wal_checkpoint(PASSIVE)");
      } catch (cause) {
        const message = "may not be on the disk";
        throw refuseFile("receipts_unwritable", path, { message, hint: "look at the disk", cause });
      } finally {
        database.close();
      }
    },
  };
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${quoted(columns)}) VALUES (${columns.map(() => "?").join(", ")})`;
}

function registrationKey(owner: string, scope: string | undefined, hook: string): string {
  return JSON.stringify([owner, scope ?? null, hook]);
}

function* readReceipts(
  database: Database,
  path: string,
  { where, values, limit }: Conditions,
  skip: () => void,
): Generator<HookReceipt, void> {
  const columns = quoted(["position", ...EXECUTION_COLUMNS]);
  const page = (conditions: readonly string[]) => `SELECT ${columns} FROM hook_execution
    ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`} ORDER BY started_at, position LIMIT ?`;
  let left = limit;
  let after: [Cell, Cell] | undefined;
  while (left > 0) {
    const wanted = Math.min(left, PAGE);
    const rows = readRows(
      database,
      path,
      after === undefined ? page(where) : page([...where, "(started_at, position) > (?, ?)"]),
      [...values, ...(after ?? []), wanted],
    );
    for (const row of rows) {
      const receipt = toReceipt(row);
      if (receipt === undefined) skip();
      else {
        left -= 1;
        yield receipt;
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < wanted) return;
    // As they are: a blob sorts behind all texts, and its text would be found again and again.
    after = [last.started_at ?? null, last.position ?? null];
  }
}

function* readHooks(
  database: Database,
  path: string,
  { where, values, limit }: Conditions,
  skip: () => void,
): Generator<HookRecord, void> {
  const columns = quoted(["registration", ...HOOK_COLUMNS]);
  const conditions = [...where, "registration > ?"].join(" AND ");
  let left = limit;
  let after = 0;
  while (left > 0) {
    const wanted = Math.min(left, PAGE);
    const sql = `SELECT ${columns} FROM hook WHERE ${conditions} ORDER BY registration LIMIT ?`;
    const rows = readRows(database, path, sql, [...values, after, wanted]);
    for (const row of rows) {
      const hook = toHook(row);
      if (hook === undefined) skip();
      else {
        left -= 1;
        yield hook;
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < wanted) return;
    after = Number(last.registration);
  }
}

/** Compared as text, by the index: `%` and `_` mean themselves. */
function findIds(database: Database, path: string, column: string, start: string): string[] {
  const sql = `SELECT DISTINCT ${column} AS id FROM hook_execution
    WHERE ${column} >= ? AND ${column} < ? ORDER BY ${column} LIMIT ?`;
  return readRows(database, path, sql, [start, `${start}\u{10ffff}`, IDS_SHOWN]).map(({ id }) => String(id));
}

function readRows(database: Database, path: string, sql: string, values: readonly Cell[]): Row[] {
  try {
    if (!database.open) throw new Error("the store is closed");
    return database.prepare<unknown[], Row>(sql).all(...values);
  } catch (cause) {
    throw refuseFile("receipts_unreadable", path, {
      message: "cannot be read",
      hint: "what was read before is whole",
      cause,
    });
  }
}

function explainWrite(cause: unknown, path: string, what: string): AgentHooksRefused {
  const refuse = (why: string, hint: string) =>
    refuseFile("receipts_unwritable", path, { message: `${what} was not written: ${why}`, hint, cause });
  const code = sqliteCode(cause) ?? "";
  if (code === "SQLITE_CONSTRAINT_UNIQUE")
    return refuse("its id is there already", "give every receipt an id of its own");
  if (code.startsWith("SQLITE_READONLY"))
    return refuse("the store can only be read", "open it without readOnly, in a folder that you may write");
  if (code.startsWith("SQLITE_BUSY"))
    return refuse("another program holds the database", "raise busyTimeoutMs, or find out who holds it");
  return refuse("the database refused", "hooks are decided regardless; this receipt is lost");
}
