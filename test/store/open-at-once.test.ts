// Processes that open the same new store in the same moment, many times over: who comes second must find it made, not locked.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import Driver from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MIGRATIONS, MIGRATIONS_TABLE } from "../../src/store/index.ts";
import { DIST, makeFolder } from "./support.ts";

const OPENER = `
const { openReceiptStore } = await import(process.argv[1] + "/store/index.js");
console.log("ready");
process.stdin.on("data", async (path) => {
  try {
    (await openReceiptStore({ path: String(path).trim() })).close();
    console.log("opened");
  } catch (error) {
    console.log(error.message);
  }
});
`;

let folder: Awaited<ReturnType<typeof makeFolder>>;
let openers: { child: ChildProcess; lines: Interface }[] = [];
beforeAll(async () => {
  folder = await makeFolder();
  openers = Array.from({ length: 6 }, () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", OPENER, DIST], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    return { child, lines: createInterface({ input: child.stdout }) };
  });
  await Promise.all(openers.map(({ lines }) => once(lines, "line")));
});
afterAll(async () => {
  for (const { child } of openers) child.kill();
  await folder.remove();
});

/** What each of the processes says that opens it. */
async function openAtOnce(path: string): Promise<string[]> {
  const said = openers.map(({ lines }) => once(lines, "line"));
  for (const { child } of openers) child.stdin?.write(`${path}\n`);
  return (await Promise.all(said)).map(([line]) => String(line));
}

function appliedIn(path: string): unknown[] {
  const database = new Driver(path, { readonly: true });
  try {
    return database.prepare("SELECT id FROM schema_migrations").pluck().all();
  } finally {
    database.close();
  }
}

const ids = MIGRATIONS.map(({ id }) => id);

test("a store that is not there yet is made once, and opened by all", async () => {
  for (let round = 0; round < 150; round += 1) {
    const path = join(folder.path, `new-${round}.sqlite`);
    expect(await openAtOnce(path)).toEqual(openers.map(() => "opened"));
    expect(appliedIn(path)).toEqual(ids);
  }
});

test("a store that lacks migrations is migrated once, and opened by all", async () => {
  for (let round = 0; round < 20; round += 1) {
    const path = join(folder.path, `old-${round}.sqlite`);
    const database = new Driver(path);
    database.pragma("journal_mode = WAL");
    database.exec(MIGRATIONS_TABLE);
    database.close();
    expect(await openAtOnce(path)).toEqual(openers.map(() => "opened"));
    expect(appliedIn(path)).toEqual(ids);
  }
});
