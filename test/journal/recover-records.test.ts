// Records that recovery must not act upon.

import { chmodSync, chownSync, readFileSync } from "node:fs";
import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type RecoverOptions, recoverRuns } from "../../src/index.ts";
import type { JournalLine } from "../../src/journal/record.ts";
import { isAlive, makePlace, type Place } from "../spawn/support.ts";
import { admittedLine, commandHook, readTold, startStray, writeJournal, writeRaw } from "./lost-run.ts";
import { journalsOf, stateDirOf } from "./support.ts";

let place: Place;
const strays: { child: { kill(signal: "SIGKILL"): boolean } }[] = [];
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  for (const { child } of strays.splice(0)) child.kill("SIGKILL");
  await place.remove();
});

const recover = (options: RecoverOptions = {}) =>
  recoverRuns({ stateDir: stateDirOf(place), env: place.env, ...options });
const stray = async (
  ...given: Parameters<typeof startStray> extends [unknown, ...infer Rest] ? Rest : never
) => {
  const started = await startStray(place, ...given);
  strays.push(started);
  return started;
};
const _endedLines = () => readFileSync(join(journalsOf(place), "ended", "r1.jsonl"), "utf8");
const EXIT_STARTED: JournalLine = { type: "exit_started", at: new Date().toISOString(), by: "supervisor" };

describe("records that cannot be trusted", () => {
  const admitted = () => JSON.stringify(admittedLine(place, "r1"));
  const CASES: [string, string, () => string][] = [
    ["empty", "is empty", () => ""],
    ["cut", "was cut", () => admitted()],
    ["cut in a later line", "was cut", () => `${admitted()}\n{"type":"exit_st`],
    ["garbage", "is no JSON", () => "no\n"],
    ["of another shape", "shape", () => '{"type":"admitted"}\n'],
    ["named for another run", "another run", () => `${JSON.stringify(admittedLine(place, "r2"))}\n`],
    ["without an admission", "admission", () => `${JSON.stringify(EXIT_STARTED)}\n`],
    ["admitted twice", "more than one", () => `${admitted()}\n${admitted()}\n`],
    [
      "with a pid that is none",
      "shape",
      () =>
        `${admitted()}\n${JSON.stringify({ type: "started", at: EXIT_STARTED.at, pid: -1, startTime: "1", groupId: 1 })}\n`,
    ],
  ];

  test.each(CASES)("%s: told, and left as it is", async (_what, problem, content) => {
    const { pid } = await stray({ marker: "r1" });
    const written = content();
    const path = await writeRaw(place, "r1", written);
    expect(await recover()).toMatchObject([
      { runId: "r1", state: "unreadable", problems: [expect.stringContaining(problem)] },
    ]);
    expect([isAlive(pid), readFileSync(path, "utf8")]).toEqual([true, written]);
  });

  test("writable by the group: told, and nothing of it is run", async () => {
    const path = await writeJournal(place, "r1", [
      admittedLine(place, "r1", { exitChain: [await commandHook(place)] }),
    ]);
    chmodSync(path, 0o620);
    expect(await recover()).toMatchObject([{ state: "unreadable" }]);
    expect(await readTold(place)).toEqual([]);
  });

  test("behind a link: told, and nothing of it is run", async () => {
    const path = await writeJournal(place, "r1", [
      admittedLine(place, "r1", { exitChain: [await commandHook(place)] }),
    ]);
    await rename(path, join(place.home, "real"));
    await symlink(join(place.home, "real"), path);
    expect(await recover()).toMatchObject([{ state: "unreadable" }]);
    expect(await readTold(place)).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0)("of another user: told, and nothing of it is run", async () => {
    const path = await writeJournal(place, "r1", [
      admittedLine(place, "r1", { exitChain: [await commandHook(place)] }),
    ]);
    chownSync(path, 12345, 12345);
    expect(await recover()).toMatchObject([
      { state: "unreadable", problems: [expect.stringContaining("uid")] },
    ]);
    expect(await readTold(place)).toEqual([]);
  });

  test("in a folder that others may write to: told as a whole", async () => {
    await writeJournal(place, "r1", [admittedLine(place, "r1")]);
    chmodSync(journalsOf(place), 0o770);
    expect(await recover()).toMatchObject([{ runId: "", state: "unreadable" }]);
  });

  test("do not keep the others from being recovered", async () => {
    await writeRaw(place, "a", "no\n");
    await writeJournal(place, "r1", [admittedLine(place, "r1")]);
    expect((await recover()).map(({ state }) => state)).toEqual(["unreadable", "recovered"]);
  });
});
