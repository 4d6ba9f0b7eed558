import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { walkProcesses } from "../../src/exec/walk-processes.ts";

let table: string;
beforeEach(async () => {
  table = await mkdtemp(join(tmpdir(), "bridle-walk-"));
  for (let pid = 1; pid <= 20; pid += 1) await mkdir(join(table, String(pid)));
  await mkdir(join(table, "self"));
});
afterEach(() => rm(table, { recursive: true }));

const spend = (milliseconds: number) => {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
};

test("every process is looked at once, and others have their turns in between", async () => {
  const looked: number[] = [];
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await walkProcesses((pid) => {
    looked.push(pid);
    spend(1);
  }, table);
  isOver = true;
  expect(looked.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: 20 }, (_, nth) => nth + 1),
  );
  expect(turns).toBeGreaterThan(4);
});

test("what came during a look is looked at, also what came last", async () => {
  const looked: number[] = [];
  let born = 100;
  await walkProcesses(async (pid) => {
    looked.push(pid);
    spend(3);
    if (looked.length % 10 === 0) await mkdir(join(table, String(born++)));
  }, table);
  expect(looked).toContain(100);
  expect(looked).toContain(101);
});

test("a table that is not there is an error", async () => {
  await expect(walkProcesses(() => {}, join(table, "nowhere"))).rejects.toThrow("ENOENT");
});
