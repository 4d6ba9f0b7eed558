// The database of one fan-out: `STATE/fanouts/ID/state.sqlite`, 0600 in 0700, WAL, on the disk when a statement returns. Must never take a
// file that is something else for a state.

import { chmodSync, closeSync, lstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { makeDirectoriesNow } from "../make-directories.ts";
import { describeForeign } from "../receipts/own-file.ts";
import { type Database, loadDriver } from "../store/load-driver.ts";

/** `user_version` of the tables below. A released one is never changed: a new one gets a number and a way from the old. */
const VERSION = 1;
/** `application_id`: "BrFo". */
const OURS = 0x4272466f;
const BUSY_MS = 10_000;

const TABLES = `
CREATE TABLE fan_out (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  digest TEXT NOT NULL,
  source TEXT,
  note TEXT NOT NULL,
  supervisor TEXT
) STRICT;
CREATE TABLE task (
  idx INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  provider TEXT NOT NULL,
  spec TEXT NOT NULL,
  base TEXT,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'finished')),
  outcome TEXT CHECK ((outcome IS NULL) = (state <> 'finished')),
  reason TEXT,
  ended_at TEXT,
  not_before INTEGER NOT NULL DEFAULT 0,
  resume TEXT
) STRICT;
CREATE TABLE attempt (
  idx INTEGER NOT NULL REFERENCES task (idx),
  attempt INTEGER NOT NULL,
  run_id TEXT NOT NULL UNIQUE,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  outcome TEXT,
  reason TEXT,
  class TEXT,
  cost_usd REAL,
  turns INTEGER,
  denied INTEGER,
  duration_ms INTEGER,
  final_text TEXT,
  session TEXT,
  worktree TEXT,
  repository TEXT,
  worktree_state TEXT CHECK (worktree_state IN ('planned', 'removed', 'kept')),
  PRIMARY KEY (idx, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_state ON task (state, not_before, idx);
`;

export function fanOutsDirectory(stateDir: string): string {
  return join(stateDir, "fanouts");
}

export function fanOutDirectory(stateDir: string, id: string): string {
  return join(fanOutsDirectory(stateDir), id);
}

export function statePath(directory: string): string {
  return join(directory, "state.sqlite");
}

/** Rejects with AgentHooksRefused `store_unavailable` where there is no driver. */
export async function requireDriver(): Promise<void> {
  await loadDriver();
}

export interface OpenStateOptions {
  /** Makes nothing; the tables must be there. */
  readonly readOnly?: boolean;
  /** Makes the file, which must not be there, and fills it: all of that is there, or nothing. */
  readonly fill?: (database: Database) => void;
}

/** Rejects with AgentHooksRefused `store_unavailable`. */
export async function openState(
  directory: string,
  { readOnly = false, fill }: OpenStateOptions,
): Promise<Database> {
  const Driver = await loadDriver();
  const path = statePath(directory);
  let database: Database | undefined;
  try {
    if (fill !== undefined) {
      makeDirectoriesNow(directory);
      chmodSync(directory, 0o700);
      closeSync(openSync(path, "wx", 0o600));
    }
    const problem = describeForeign(lstatSync(path));
    if (problem !== undefined) throw refuse(path, problem);
    database = new Driver(path, { timeout: BUSY_MS, readonly: readOnly, fileMustExist: true });
    if (fill !== undefined) {
      database.pragma("journal_mode = WAL");
      database.pragma(`application_id = ${OURS}`);
    } else if (database.pragma("application_id", { simple: true }) !== OURS)
      throw refuse(path, "is no state of a fan-out");
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = ON");
    if (fill !== undefined) {
      const made = database;
      made.transaction(() => {
        made.exec(TABLES);
        fill(made);
        made.pragma(`user_version = ${VERSION}`);
      })();
    }
    const version = database.pragma("user_version", { simple: true });
    if (version === 0) throw refuse(path, "was never finished: whoever made it died");
    if (version !== VERSION)
      throw refuse(path, `was written by another version (${String(version)}, here ${VERSION})`);
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof AgentHooksRefused) throw cause;
    throw refuse(path, `cannot be opened: ${(cause as Error).message}`, cause);
  }
}

function refuse(path: string, message: string, cause?: unknown): AgentHooksRefused {
  const hint = "name a fan-out of yours";
  return new AgentHooksRefused([{ code: "store_unavailable", path, message, hint }], { cause });
}
