// The tables of the receipts store, as data. Plain SQLite statements without PRAGMA, ATTACH or a transaction of their own, so that a database
// which is reached otherwise (Cloudflare D1) can be given the same tables. A migration that was released is never changed: add one.

/** One step of the schema. */
export interface Migration {
  /** Sorts behind those before it. Written into `schema_migrations` when all of `sql` was applied. */
  readonly id: string;
  /** One statement each, to be run in this order in one transaction. */
  readonly sql: readonly string[];
}

/** Makes the table that says which migrations were applied. To be run before the first one; does nothing the second time. */
export const MIGRATIONS_TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (
  id TEXT PRIMARY KEY NOT NULL,
  applied_at TEXT NOT NULL
)`;

/** All migrations, oldest first. Who applies one records `(id, applied_at)` in `schema_migrations`. */
export const MIGRATIONS: readonly Migration[] = Object.freeze([
  {
    id: "0001_receipts",
    sql: Object.freeze([
      // One row a registration: the same hook of a host that was started again has another one.
      `CREATE TABLE hook (
  registration INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  scope TEXT,
  event TEXT NOT NULL,
  type TEXT NOT NULL,
  name TEXT NOT NULL,
  matcher TEXT,
  priority REAL NOT NULL,
  failure_mode TEXT NOT NULL,
  registered_at TEXT NOT NULL
)`,
      // Lists (input_keys, output_keys, notes) are JSON arrays of strings.
      `CREATE TABLE hook_execution (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL,
  owner_id TEXT NOT NULL,
  scope TEXT,
  run_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  call INTEGER NOT NULL,
  event TEXT NOT NULL,
  hook TEXT NOT NULL,
  hook_registration INTEGER REFERENCES hook (registration),
  hook_type TEXT NOT NULL,
  failure_mode TEXT NOT NULL,
  started_at TEXT NOT NULL,
  duration_ms REAL NOT NULL,
  status TEXT NOT NULL,
  decision TEXT NOT NULL,
  background INTEGER NOT NULL,
  asked TEXT,
  tool_name TEXT,
  tool_use_id TEXT,
  agent_id TEXT,
  input_keys TEXT NOT NULL,
  output_keys TEXT NOT NULL,
  "exit" TEXT NOT NULL,
  notes TEXT NOT NULL,
  error TEXT
)`,
      "CREATE INDEX hook_by_owner ON hook (owner_id, id)",
      "CREATE INDEX hook_execution_by_owner ON hook_execution (owner_id, started_at)",
      "CREATE INDEX hook_execution_by_session ON hook_execution (session_id, started_at)",
      "CREATE INDEX hook_execution_by_run ON hook_execution (run_id, started_at)",
      "CREATE INDEX hook_execution_by_hook ON hook_execution (hook, started_at)",
      "CREATE INDEX hook_execution_by_time ON hook_execution (started_at)",
      "CREATE INDEX hook_execution_by_registration ON hook_execution (hook_registration)",
    ]),
  },
]);
