// A fence goes up above every one that the workspace has seen, and where an earlier attempt looks for it.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FenceLost, FenceRefused, raiseFence } from "../../src/bullmq/fence.ts";
import type { RedisCommands } from "../../src/bullmq/redis-commands.ts";
import { workspaceKeys } from "../../src/bullmq/redis-keys.ts";
import { fencePath, readFence } from "../../src/hooks/fence-file.ts";

let workspace: string;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "bridle-raise-")));
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

const keys = workspaceKeys("shared", "/w");
/** Of Redis only this is asked. */
const commands = {
  raise: async (_keys: unknown, _attempt: string, seen: number) => seen + 1,
} as RedisCommands;
const raise = (token: number, given = commands) =>
  raiseFence(given, keys, workspace, { token, attempt: `a${token}` });

test("a token that Redis gave out is taken when the workspace has seen none as high", async () => {
  expect(await raise(3)).toEqual({ token: 3, attempt: "a3" });
  expect(await raise(4)).toEqual({ token: 4, attempt: "a4" });
  expect(readFence(fencePath(workspace))).toEqual({ token: 4, attempt: "a4" });
});

test("one that the workspace has seen, or is below it, is raised: Redis lost its data", async () => {
  await raise(40);
  expect(await raise(1)).toEqual({ token: 41, attempt: "a1" });
  expect(await raise(41)).toEqual({ token: 42, attempt: "a41" });
});

test("nothing is written when the lease was lost meanwhile", async () => {
  await raise(40);
  const lost = { raise: async () => undefined } as unknown as RedisCommands;
  await expect(raise(1, lost)).rejects.toBeInstanceOf(FenceLost);
  expect(readFence(fencePath(workspace))).toMatchObject({ token: 40 });
});

test("an attempt that began before there was a repository sees the fence of a later one", async () => {
  await raise(1);
  const known = fencePath(workspace);
  execFileSync("git", ["-C", workspace, "init", "-q"]);
  await raise(2);
  expect(fencePath(workspace)).not.toBe(known);
  expect([readFence(known), readFence(fencePath(workspace))]).toEqual([
    { token: 2, attempt: "a2" },
    { token: 2, attempt: "a2" },
  ]);
});

test("so does one that began in a folder of a repository, before it became one of its own", async () => {
  execFileSync("git", ["-C", workspace, "init", "-q"]);
  const root = workspace;
  workspace = join(root, "below");
  try {
    mkdirSync(workspace);
    await raise(1);
    const known = fencePath(workspace);
    execFileSync("git", ["-C", workspace, "init", "-q"]);
    await raise(2);
    expect(fencePath(workspace)).not.toBe(known);
    expect(readFence(known)).toEqual({ token: 2, attempt: "a2" });
  } finally {
    workspace = root;
  }
});

test("what cannot be read is not written over", async () => {
  writeFileSync(fencePath(workspace), "something else");
  await expect(raise(1)).rejects.toBeInstanceOf(FenceRefused);
});
