// Records that recovery must not act upon.

import { chmodSync, chownSync, readFileSync } from "node:fs";
import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive } from "../spawn/support.ts";
import {
  admittedLine,
  commandHook,
  EXIT_STARTED,
  lostRunsOfEachTest,
  readTold,
  writeJournal,
  writeRaw,
} from "./lost-run.ts";
import { journalsOf } from "./support.ts";

const lost = lostRunsOfEachTest();
const { recover, stray } = lost;

describe("records that cannot be trusted", () => {
  const admitted = () => JSON.stringify(admittedLine(lost.place, "r1"));
  const CASES: [string, string, () => string][] = [
    ["empty", "is empty", () => ""],
    ["cut", "was cut", () => admitted()],
    ["cut in a later line", "was cut", () => `${admitted()}\n{"type":"exit_st`],
    ["garbage", "is no JSON", () => "no\n"],
    ["of another shape", "shape", () => '{"type":"admitted"}\n'],
    ["named for another run", "another run", () => `${JSON.stringify(admittedLine(lost.place, "r2"))}\n`],
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
    const path = await writeRaw(lost.place, "r1", written);
    expect(await recover()).toMatchObject([
      { runId: "r1", state: "unreadable", problems: [expect.stringContaining(problem)] },
    ]);
    expect([isAlive(pid), readFileSync(path, "utf8")]).toEqual([true, written]);
  });

  test("writable by the group: told, and nothing of it is run", async () => {
    const path = await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1", { exitChain: [await commandHook(lost.place)] }),
    ]);
    chmodSync(path, 0o620);
    expect(await recover()).toMatchObject([{ state: "unreadable" }]);
    expect(await readTold(lost.place)).toEqual([]);
  });

  test("behind a link: told, and nothing of it is run", async () => {
    const path = await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1", { exitChain: [await commandHook(lost.place)] }),
    ]);
    await rename(path, join(lost.place.home, "real"));
    await symlink(join(lost.place.home, "real"), path);
    expect(await recover()).toMatchObject([{ state: "unreadable" }]);
    expect(await readTold(lost.place)).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0)("of another user: told, and nothing of it is run", async () => {
    const path = await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1", { exitChain: [await commandHook(lost.place)] }),
    ]);
    chownSync(path, 12345, 12345);
    expect(await recover()).toMatchObject([
      { state: "unreadable", problems: [expect.stringContaining("uid")] },
    ]);
    expect(await readTold(lost.place)).toEqual([]);
  });

  test("in a folder that others may write to: told as a whole", async () => {
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1")]);
    chmodSync(journalsOf(lost.place), 0o770);
    expect(await recover()).toMatchObject([{ runId: "", state: "unreadable" }]);
  });

  test("do not keep the others from being recovered", async () => {
    await writeRaw(lost.place, "a", "no\n");
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1")]);
    expect((await recover()).map(({ state }) => state)).toEqual(["unreadable", "recovered"]);
  });
});
