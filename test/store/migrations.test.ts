// The migrations are data that another SQLite can be given, above all Cloudflare D1.

import Driver from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MIGRATIONS, MIGRATIONS_TABLE } from "../../src/store/index.ts";
import { EXECUTION_COLUMNS, HOOK_COLUMNS } from "../../src/store/rows.ts";

/** What D1 refuses or decides by itself, and what other SQLites may lack. */
const FORBIDDEN =
  /\b(PRAGMA|ATTACH|DETACH|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|VACUUM|REINDEX|ANALYZE|TEMP|TEMPORARY|VIRTUAL|LOAD_EXTENSION|USER_VERSION|TRIGGER|GENERATED)\b/i;

const statements = [MIGRATIONS_TABLE, ...MIGRATIONS.flatMap(({ sql }) => sql)];

let database: Driver.Database;
beforeEach(() => {
  database = new Driver(":memory:");
  database.pragma("foreign_keys = ON"); // as D1 has it
});
afterEach(() => database.close());

test.each(statements)("D1 can be given: %s", (statement) => {
  expect(statement).not.toMatch(FORBIDDEN);
  expect(statement).not.toContain(";");
  expect(statement).not.toMatch(/--|\/\*/);
  expect(statement.length).toBeLessThan(100_000);
});

test("each statement is one, and they run one by one in their order", () => {
  for (const statement of statements) database.prepare(statement).run();
  const names = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
  expect(names).toEqual(["hook", "hook_execution", "schema_migrations"]);
  database.prepare(MIGRATIONS_TABLE).run();
});

test("ids are unique and sort in the order in which they are applied", () => {
  const ids = MIGRATIONS.map(({ id }) => id);
  expect([...new Set(ids)].sort()).toEqual(ids);
});

test("the tables have a column for every field, and no other but the row's own and its reference", () => {
  for (const statement of statements) database.prepare(statement).run();
  const columnsOf = (table: string) =>
    database.prepare<[string], string>("SELECT name FROM pragma_table_info(?)").pluck().all(table);
  expect(columnsOf("hook")).toEqual(["registration", ...HOOK_COLUMNS]);
  expect(columnsOf("hook_execution").filter((name) => name !== "hook_registration")).toEqual([
    "position",
    ...EXECUTION_COLUMNS,
  ]);
});

test("a receipt cannot refer to a registration that is not there", () => {
  for (const statement of statements) database.prepare(statement).run();
  const columns = database
    .prepare<[], { name: string; type: string }>("SELECT name, type FROM pragma_table_info('hook_execution')")
    .all()
    .filter(({ name }) => name !== "position");
  const insert = database.prepare(
    `INSERT INTO hook_execution (${columns.map(({ name }) => `"${name}"`).join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const cells = (registration: number | null) =>
    columns.map(({ name, type }) =>
      name === "hook_registration" ? registration : type === "TEXT" ? "x" : 0,
    );
  expect(() => insert.run(...cells(7))).toThrow(/FOREIGN KEY/);
  insert.run(...cells(null));
});
