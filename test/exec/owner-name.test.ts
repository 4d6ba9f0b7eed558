// What a killed process has left is told from what a living one holds, by its name.

import { readdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { OWNER_PATTERN, ownerName, removeAbandoned } from "../../src/exec/owner-name.ts";
import { deadOwner } from "../journal/lost-run.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-owner-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const PATTERN = new RegExp(`^it-(${OWNER_PATTERN})$`);
const elsewhere = `${ownerName().replace(/-\w+$/, "")}-000000000000`;
const make = async (owner: string) => {
  const path = join(folder, `it-${owner}`);
  await mkdir(join(path, "below"), { recursive: true });
  return path;
};
const left = async () => {
  await removeAbandoned(folder, PATTERN);
  return readdirSync(folder).length;
};

test("what a dead process has made goes, with what is in it", async () => {
  await make(deadOwner());
  expect(await left()).toBe(0);
});

test("a file goes too", async () => {
  await writeFile(join(folder, `it-${deadOwner()}`), "");
  expect(await left()).toBe(0);
});

test("what a living process has made stays", async () => {
  await make(ownerName());
  expect(await left()).toBe(1);
});

test("what is named otherwise stays", async () => {
  await mkdir(join(folder, `its-${deadOwner()}`));
  expect(await left()).toBe(1);
});

test("a link stays", async () => {
  await symlink(folder, join(folder, `it-${deadOwner()}`));
  expect(await left()).toBe(1);
});

test("what was made where pids mean something else stays for an hour", async () => {
  const path = await make(elsewhere);
  expect(await left()).toBe(1);
  const then = new Date(Date.now() - 61 * 60_000);
  await utimes(path, then, then);
  expect(await left()).toBe(0);
});

test.each([
  [0o777, 1],
  [0o1777, 0],
])("in a folder of mode %o, %d of one is left", async (mode, count) => {
  await make(deadOwner());
  await chmod(folder, mode);
  expect(await left()).toBe(count);
});

test("a folder that is not there has nothing", async () => {
  await expect(removeAbandoned(join(folder, "nowhere"), PATTERN)).resolves.toBeUndefined();
});
