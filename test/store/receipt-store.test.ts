// What the SQLite store promises: what is in it, who may read it, what may be asked, what is refused.

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Driver from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openReceiptStore, type ReceiptFilters, type SqliteReceiptStore } from "../../src/store/index.ts";
import { DIST, fullReceipt, hook, issueOf, makeFolder, receipt, startWriter } from "./support.ts";

const fail = () => {
  throw new TypeError("raw");
};
const throwing = (name: string) => Object.defineProperty({}, name, { get: fail, enumerable: true });

let folder: Awaited<ReturnType<typeof makeFolder>>;
let path: string;
const opened: SqliteReceiptStore[] = [];
beforeEach(async () => {
  folder = await makeFolder();
  path = join(folder.path, "made", "here", "receipts.sqlite");
});
afterEach(async () => {
  for (const store of opened.splice(0)) store.close();
  await folder.remove();
});

async function open(options: { readOnly?: boolean; busyTimeoutMs?: number } = {}) {
  const store = await openReceiptStore({ path, ...options });
  opened.push(store);
  return store;
}

/** As anybody else sees the file. */
function look<T>(run: (database: Driver.Database) => T): T {
  const database = new Driver(path);
  try {
    return run(database);
  } finally {
    database.close();
  }
}

test("receipts and hooks are read back as they were written", async () => {
  const store = await open();
  const written = [fullReceipt(), receipt({ started_at: "2026-07-01T10:00:01.000Z" })];
  const hooks = [hook({ scope: "s", matcher: "Bash" }), hook({ priority: 1.5 })];
  for (const one of hooks) store.register(one);
  for (const one of written) store.write(one);
  store.close();
  const again = await open({ readOnly: true });
  expect([...again.query()]).toEqual(written);
  expect([...again.hooks()]).toEqual(hooks);
});

test("lists are JSON text, and what was not given is NULL", async () => {
  (await open()).write(receipt({ notes: ["hook_failed"] }));
  const row = look((database) => database.prepare("SELECT notes, scope FROM hook_execution").get());
  expect(row).toEqual({ notes: '["hook_failed"]', scope: null });
});

test("a receipt refers to the registration under which it ran, of its own owner and scope", async () => {
  const store = await open();
  store.register(hook({ name: "old" }));
  store.write(receipt({ id: "a" }));
  store.register(hook({ name: "new" }));
  store.register(hook({ name: "narrow", scope: "s" }));
  store.register(hook({ name: "other", owner_id: "tenant-2" }));
  store.write(receipt({ id: "b" }));
  store.write(receipt({ id: "c", scope: "s" }));
  store.write(receipt({ id: "d", scope: "t" }));
  store.write(receipt({ id: "e", owner_id: "tenant-2" }));
  store.write(receipt({ id: "f", owner_id: "tenant-3" }));
  const sql = `SELECT e.id, h.name FROM hook_execution e LEFT JOIN hook h ON h.registration = e.hook_registration
    ORDER BY e.position`;
  const rows = look((database) => database.prepare(sql).raw().all());
  expect(rows).toEqual([
    ["a", "old"],
    ["b", "new"],
    ["c", "narrow"],
    ["d", "new"],
    ["e", "other"],
    ["f", null],
  ]);
});

test("an id that is there already is an error, and the first receipt stays as it is", async () => {
  const store = await open();
  store.write(receipt({ id: "a" }));
  expect(await issueOf(() => store.write(receipt({ id: "a", decision: "deny" })))).toMatchObject({
    code: "receipts_unwritable",
    path,
    message: expect.stringMatching(/receipt "a" was not written: its id is there already/),
  });
  store.write(receipt({ id: "b" }));
  expect([...store.query()].map(({ id, decision }) => [id, decision])).toEqual([
    ["a", "none"],
    ["b", "none"],
  ]);
});

test("the database is in WAL mode, with foreign keys and the synchronous mode that WAL wants", async () => {
  const store = await open();
  store.write(receipt());
  expect(look((database) => database.pragma("journal_mode", { simple: true }))).toBe("wal");
  const { openDatabase } = await import("../../src/store/open-database.ts");
  const database = await openDatabase(Driver, { path, busyTimeoutMs: 1234, readOnly: false });
  const read = (name: string) => database.pragma(name, { simple: true });
  expect([read("synchronous"), read("foreign_keys"), read("busy_timeout")]).toEqual([1, 1, 1234]);
  database.close();
});

test("file, companions and folders are the owner's alone, whatever the umask says", async () => {
  const before = process.umask(0);
  try {
    (await open()).write(receipt());
  } finally {
    process.umask(before);
  }
  const modes = [path, `${path}-wal`, `${path}-shm`, join(path, "..")].map((at) => statSync(at).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600, 0o600, 0o700]);
});

test("a file that others could read is closed to them", async () => {
  (await open()).close();
  chmodSync(path, 0o644);
  await open();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

describe("query", () => {
  const at = (second: number) => `2026-07-01T10:00:0${second}.000Z`;
  let store: SqliteReceiptStore;
  beforeEach(async () => {
    store = await open();
    store.write(receipt({ id: "late", started_at: at(5), owner_id: "o", scope: "s", run_id: "r" }));
    store.write(
      receipt({ id: "b", started_at: at(1), session_id: "x", event: "Stop", hook: "Stop[0].hooks[0]" }),
    );
    store.write(
      receipt({ id: "c", started_at: at(1), status: "failed", decision: "deny", tool_name: "Bash" }),
    );
    store.write(receipt({ id: "d", started_at: at(2), tool_name: "Bash'; DROP TABLE hook_execution; --" }));
  });

  test.each([
    [{}, ["b", "c", "d", "late"]],
    [{ id: "c" }, ["c"]],
    [{ owner_id: "o" }, ["late"]],
    [{ scope: "s" }, ["late"]],
    [{ run_id: "r" }, ["late"]],
    [{ session_id: "x" }, ["b"]],
    [{ event: "Stop" }, ["b"]],
    [{ hook: "Stop[0].hooks[0]" }, ["b"]],
    [{ status: "failed" }, ["c"]],
    [{ decision: "deny" }, ["c"]],
    [{ tool_name: "Bash" }, ["c"]],
    [{ tool_name: "Bash'; DROP TABLE hook_execution; --" }, ["d"]],
    [{ since: at(2) }, ["d", "late"]],
    [{ since: new Date(at(2)) }, ["d", "late"]],
    [{ since: "2026-07-01T12:00:02+02:00" }, ["d", "late"]],
    [{ until: at(1) }, ["b", "c"]],
    [{ since: at(2), until: at(4) }, ["d"]],
    [{ limit: 2 }, ["b", "c"]],
    [{ event: "PreToolUse", limit: 1 }, ["c"]],
    [{ owner_id: "nobody" }, []],
  ] as [ReceiptFilters, string[]][])("%j finds %j", (filters, ids) => {
    expect([...store.query(filters)].map(({ id }) => id)).toEqual(ids);
  });

  test.each([
    [{ sesion_id: "x" }, "sesion_id", "is not known in filters"],
    [{ owner_id: 7 }, "owner_id", "7"],
    [{ since: "yesterday" }, "since", '"yesterday"'],
    [{ limit: 0 }, "limit", "0"],
    [{ limit: 1.5 }, "limit", "1.5"],
    [{ limit: "5" }, "limit", '"5" (string)'],
    [{ limit: null }, "limit", "null"],
    [{ decision: "nope" }, "decision", '"nope"'],
    [{ status: "denied" }, "status", '"denied"'],
    [{ event: "PreTool" }, "event", '"PreTool"'],
    [{ since: "2026-02-30" }, "since", '"2026-02-30"'],
    [{ until: "2026-04-31T10:00:00Z" }, "until", '"2026-04-31'],
    [{ since: "2026-07-01T24:00:00Z" }, "since", '"2026-07-01T24'],
    [{ since: "07/01/2026" }, "since", '"07/01/2026"'],
    [{ since: 1_782_900_000_000 }, "since", "(number)"],
    [{ since: new Date("never") }, "since", "(object)"],
    [{ since: new Date(8.64e15) }, "since", "275760"],
    [{ since: "0000-01-01T00:00:00+14:00" }, "since", "+14:00"],
    [5, "filters", "5 (number)"],
    ["deny", "filters", '"deny" (string)'],
    [null, "filters", "null"],
    [[], "filters", "[] (list)"],
    [new Map([["decision", "deny"]]), "filters", "(object)"],
    [new Date(0), "filters", "(object)"],
    [() => {}, "filters", "(function)"],
  ])("%j is refused at once, naming the value", async (filters, name, value) => {
    expect(await issueOf(() => store.query(filters as ReceiptFilters))).toMatchObject({
      code: "option_invalid",
      path: name,
      message: expect.stringContaining(value),
    });
  });

  test("filters that throw when they are read are refused, not thrown on", async () => {
    for (const [filters, name, word] of [
      [{ since: Object.create(Date.prototype) }, "since", "(object)"],
      [throwing("decision"), "filters", "throws"],
      [new Proxy({}, { ownKeys: fail }), "filters", "throws"],
    ] as [object, string, string][])
      for (const use of [() => store.query(filters), () => store.hooks(filters)])
        expect(await issueOf(use)).toMatchObject({
          code: "option_invalid",
          path: name,
          message: expect.stringMatching(name === "since" ? /./ : word),
        });
  });

  test("a time without a zone is UTC", () => {
    expect([...store.query({ since: "2026-07-01T10:00:02" })].map(({ id }) => id)).toEqual(["d", "late"]);
    expect([...store.query({ until: "2026-07-01" })]).toEqual([]);
  });

  test("a date of a leap year is one", () => {
    expect([...store.query({ until: "2024-02-29" })]).toEqual([]);
  });

  test("reads on while receipts are written, past any number of the same moment", async () => {
    for (let n = 0; n < 600; n += 1) store.write(receipt({ id: `n${n}`, started_at: at(9), run_id: "many" }));
    const seen: string[] = [];
    for (const { id } of store.query({ run_id: "many" })) {
      seen.push(id);
      if (seen.length <= 5)
        store.write(receipt({ id: `more${seen.length}`, started_at: at(9), run_id: "many" }));
    }
    expect([seen.length, new Set(seen).size, seen.at(-1)]).toEqual([605, 605, "more5"]);
  });

  test("limits over several pages", () => {
    for (let n = 0; n < 600; n += 1) store.write(receipt({ id: `n${n}`, run_id: "many" }));
    expect([...store.query({ run_id: "many", limit: 300 })]).toHaveLength(300);
  });

  test.each(["owner_id", "session_id", "run_id", "hook"] as const)(
    "by %s and for a time goes by an index",
    (column) => {
      const sql = `EXPLAIN QUERY PLAN SELECT * FROM hook_execution
      WHERE "${column}" = ? AND (started_at, position) > (?, ?) ORDER BY started_at, position LIMIT ?`;
      const plan = look((database) =>
        database.prepare<unknown[], { detail: string }>(sql).all("x", at(1), 1, 1),
      );
      expect(plan.map(({ detail }) => detail)).toEqual([
        expect.stringMatching(/^SEARCH hook_execution USING INDEX hook_execution_by_\w+ \(\w+=\? AND /),
      ]);
    },
  );

  test.each([
    ["a list that is no JSON", "notes = 'x'"],
    ["a list of what are no strings", "notes = '[1]'"],
    ["a text that is a blob", "owner_id = x'00'"],
    ["a time that is a blob", "started_at = x'00'"],
    ["a number that is a text", "seq = 'first'"],
    ["a background that is neither", "background = 2"],
  ])("%s costs its row alone, and is counted", (_, change) => {
    look((database) => database.exec(`UPDATE hook_execution SET ${change} WHERE id = 'c'`));
    for (const [limit, ids] of [
      [undefined, ["b", "d", "late"]],
      [2, ["b", "d"]],
    ] as const) {
      const rows = store.query(limit === undefined ? {} : { limit });
      expect([rows.unreadable, [...rows].map(({ id }) => id)]).toEqual([0, ids]);
      expect(rows.unreadable).toBeLessThanOrEqual(1);
      if (limit === undefined) expect(rows.unreadable).toBe(1);
    }
  });

  test("any number of unreadable rows is passed over once", () => {
    for (let n = 0; n < 600; n += 1) store.write(receipt({ id: `n${n}`, run_id: "many" }));
    look((database) => database.exec("UPDATE hook_execution SET started_at = x'00' WHERE run_id = 'many'"));
    const rows = store.query();
    expect([[...rows].length, rows.unreadable]).toEqual([4, 600]);
  });
});

test("a registration that somebody broke costs its row alone, and is counted", async () => {
  const store = await open();
  for (const id of ["a", "b", "c"]) store.register(hook({ id }));
  look((database) => database.exec("UPDATE hook SET priority = 'high' WHERE id = 'b'"));
  const rows = store.hooks();
  expect([[...rows].map(({ id }) => id), rows.unreadable]).toEqual([["a", "c"], 1]);
});

test("hooks are found by their filters", async () => {
  const store = await open();
  for (const one of [hook({ id: "a" }), hook({ id: "b", owner_id: "o" }), hook({ id: "c", event: "Stop" })])
    store.register(one);
  const find = (filters: Parameters<typeof store.hooks>[0]) => [...store.hooks(filters)].map(({ id }) => id);
  expect([find({}), find({ owner_id: "o" }), find({ event: "Stop" }), find({ limit: 1 })]).toEqual([
    ["a", "b", "c"],
    ["b"],
    ["c"],
    ["a"],
  ]);
  expect(await issueOf(() => store.hooks({ status: "ok" } as object))).toMatchObject({ path: "status" });
});

test("ids are found by their start, which is no pattern", async () => {
  const store = await open();
  for (const run_id of ["ab1", "ab2", "a%", "b"]) store.write(receipt({ run_id, session_id: `s-${run_id}` }));
  expect([store.findIds("ab"), store.findIds("a%"), store.findIds("s-b"), store.findIds("zz")]).toEqual([
    { runs: ["ab1", "ab2"], sessions: [] },
    { runs: ["a%"], sessions: [] },
    { runs: [], sessions: ["s-b"] },
    { runs: [], sessions: [] },
  ]);
});

describe("refused is", () => {
  const refusals: [string, string, RegExp, () => void][] = [
    [
      "a file that is no database",
      "store_unavailable",
      /is no SQLite database/,
      () => writeFileSync(path, "x".repeat(4096)),
    ],
    [
      "a JSONL file",
      "store_unavailable",
      /is no SQLite database/,
      () => writeFileSync(path, `${JSON.stringify({ kind: "execution", ...receipt() })}\n`),
    ],
    [
      "a database of a newer version",
      "store_unavailable",
      /newer version: migration "9999_more"/,
      () =>
        look((database) =>
          database.exec(
            "CREATE TABLE schema_migrations (id TEXT, applied_at TEXT); INSERT INTO schema_migrations VALUES ('9999_more', '')",
          ),
        ),
    ],
    [
      "a database with tables of the same name",
      "store_unavailable",
      /table hook already exists/,
      () => look((database) => database.exec("CREATE TABLE hook (x)")),
    ],
    [
      "a symbolic link",
      "receipts_unwritable",
      /is a symbolic link/,
      () => symlinkSync(join(folder.path, "elsewhere"), path),
    ],
    ["a folder", "receipts_unwritable", /is no regular file/, () => mkdirSync(path)],
  ];
  test.each(refusals)("%s", async (_, code, message, make) => {
    mkdirSync(join(path, ".."), { recursive: true });
    make();
    expect(await issueOf(() => open())).toMatchObject({
      code,
      path,
      message: expect.stringMatching(message),
    });
  });

  test("and what is no database is as it was", async () => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "precious".repeat(1000));
    await issueOf(() => open());
    expect(readFileSync(path, "utf8")).toBe("precious".repeat(1000));
  });

  test("a migration that fails leaves nothing of itself", async () => {
    mkdirSync(join(path, ".."), { recursive: true });
    look((database) => database.exec("CREATE TABLE hook_execution (x)"));
    await issueOf(() => open());
    const names = look((database) => database.prepare("SELECT name FROM sqlite_master").pluck().all());
    expect(names).toEqual(["hook_execution"]);
  });

  test.skipIf(process.getuid?.() !== 0)("another user's file", async () => {
    (await open()).close();
    chownSync(path, 65_534, 65_534);
    expect(await issueOf(() => open())).toMatchObject({ message: "belongs to uid 65534" });
  });

  test("a database that somebody holds, after the busy timeout", async () => {
    (await open()).close();
    const holder = new Driver(path);
    holder.exec("BEGIN EXCLUSIVE");
    try {
      const store = await open({ busyTimeoutMs: 1 });
      expect(await issueOf(() => store.write(receipt({ id: "a" })))).toMatchObject({
        code: "receipts_unwritable",
        message: expect.stringMatching(/"a" was not written: another program holds the database/),
      });
    } finally {
      holder.close();
    }
  });

  test.each([
    [{ path: "" }, "path", '""'],
    [{ path: "x", busyTimeoutMs: -1 }, "busyTimeoutMs", "-1"],
    [{ path: "x", busyTimeoutMs: 0.5 }, "busyTimeoutMs", "0.5"],
    [{ path: "x", busyTimeoutMs: 2 ** 31 }, "busyTimeoutMs", "2147483648"],
    [{ path: "x", busyTimeoutMs: "5" }, "busyTimeoutMs", '"5" (string)'],
    [{ path: "x", readOnly: "yes" }, "readOnly", '"yes"'],
    [{ path: "x", readOnly: null }, "readOnly", "null"],
    [{ path: "x", readonly: true }, "readonly", '"readonly"'],
    [{ path: 5 }, "path", "5 (number)"],
    [{ path: new URL("file:///x") }, "path", "(object)"],
    [{ path: "a\0b" }, "path", "a"],
    [{}, "path", "undefined"],
    [undefined, "options", "undefined"],
    [null, "options", "null"],
    ["x", "options", '"x"'],
    [["x"], "options", "(list)"],
  ])("%j", async (options, name, value) => {
    expect(await issueOf(() => openReceiptStore(options as never))).toMatchObject({
      code: "option_invalid",
      path: name,
      message: expect.stringContaining(value),
    });
  });

  test("options that throw when they are read", async () => {
    expect(await issueOf(() => openReceiptStore(throwing("path") as never))).toMatchObject({
      code: "option_invalid",
      path: "options",
      message: expect.stringContaining("throws"),
    });
  });

  test("an option in another spelling, with the name that was meant", async () => {
    expect(await issueOf(() => openReceiptStore({ path, readonly: true } as never))).toMatchObject({
      hint: "did you mean readOnly?",
    });
  });

  test("an id to find that is no text", async () => {
    const store = await open();
    expect(await issueOf(() => store.findIds(5 as never))).toMatchObject({
      code: "option_invalid",
      path: "start",
    });
  });

  test("a closed store", async () => {
    const store = await open();
    store.close();
    store.close();
    for (const use of [() => store.write(receipt()), () => store.register(hook()), () => [...store.query()]])
      expect(await issueOf(use)).toMatchObject({ message: expect.stringContaining("closed") });
  });
});

describe("to be read only", () => {
  test("a store makes nothing", async () => {
    expect(await issueOf(() => open({ readOnly: true }))).toMatchObject({
      code: "receipts_unreadable",
      message: expect.stringContaining("ENOENT"),
    });
  });

  test("a database without our tables is refused, and gets none", async () => {
    mkdirSync(join(path, ".."), { recursive: true });
    look((database) => database.exec("CREATE TABLE other (x)"));
    expect(await issueOf(() => open({ readOnly: true }))).toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("holds no receipts"),
    });
    expect(look((database) => database.prepare("SELECT name FROM sqlite_master").pluck().all())).toEqual([
      "other",
    ]);
  });

  test("a write is refused clearly", async () => {
    (await open()).close();
    const store = await open({ readOnly: true });
    expect(await issueOf(() => store.write(receipt({ id: "a" })))).toMatchObject({
      code: "receipts_unwritable",
      path,
      message: expect.stringMatching(/receipt "a" was not written: the store can only be read/),
    });
  });

  test("a file without a write permission can be read, and refuses a write", async () => {
    // Permissions mean nothing to root: what is needed is loaded first.
    const program = `
      import { chmodSync, writeSync } from "node:fs";
      const [dist, path, template, warmUp] = process.argv.slice(1);
      const { openReceiptStore } = await import(dist + "/store/index.js");
      (await openReceiptStore({ path: warmUp })).close();
      if (process.getuid() === 0) { process.setgid(65534); process.setuid(65534); }
      const receipt = JSON.parse(template);
      const first = await openReceiptStore({ path });
      first.write(receipt);
      first.close();
      chmodSync(path, 0o400);
      const store = await openReceiptStore({ path });
      const told = [[...store.query()].length];
      try { store.write({ ...receipt, id: "b" }); } catch (error) { told.push(error.issues[0].message); }
      writeSync(1, JSON.stringify(told));
    `;
    mkdirSync(join(path, ".."), { recursive: true });
    if (process.getuid?.() === 0)
      for (const at of [folder.path, join(path, "../.."), join(path, "..")]) chownSync(at, 65_534, 65_534);
    const warmUp = join(folder.path, "warm-up.sqlite");
    const args = ["--input-type=module", "-e", program, DIST, path, JSON.stringify(receipt()), warmUp];
    expect(JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }))).toEqual([
      1,
      expect.stringMatching(/receipt "b" was not written: the store can only be read/),
    ]);
  });
});

test("after a close everything is in the one file, also while another has it open", async () => {
  const other = await open();
  const store = await open();
  store.write(receipt({ id: "a" }));
  store.close();
  const copy = join(folder.path, "copy.sqlite");
  cpSync(path, copy);
  const database = new Driver(copy, { readonly: true });
  expect(database.prepare("SELECT id FROM hook_execution").pluck().all()).toEqual(["a"]);
  database.close();
  other.close();
});

test("processes that open a new store at once make it once, and all write into it", async () => {
  const firsts = ["a", "b", "c", "d"];
  const writers = firsts.map((first) => startWriter({ kind: "sqlite", path, first, count: 100 }));
  expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual(firsts.map(() => [0, null]));
  const found = [...(await open()).query()];
  expect(new Set(found.map(({ id }) => id)).size).toBe(400);
  const applied = look((database) => database.prepare("SELECT id FROM schema_migrations").pluck().all());
  expect(applied).toEqual(["0001_receipts"]);
});

test("a writer that is killed at any moment loses no receipt whose write has returned", async () => {
  const written: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    const stopAt = 1 + Math.floor(Math.random() * 300);
    const writer = startWriter({
      kind: "sqlite",
      path,
      first: `r${round}`,
      text: "x".repeat(round % 2 === 0 ? 10 : 10_000),
      onId: () => writer.ids.length === stopAt && writer.child.kill("SIGKILL"),
    });
    expect(await writer.ended).toEqual([null, "SIGKILL"]);
    written.push(...writer.ids);
    // Also for one who may not repair what the killed one left.
    const store = await open({ readOnly: round % 2 === 0 });
    const there = new Set([...store.query()].map(({ id }) => id));
    expect(written.filter((id) => !there.has(id))).toEqual([]);
    store.close();
    expect(look((database) => database.pragma("integrity_check", { simple: true }))).toBe("ok");
  }
}, 120_000);
