// What recovery removes beside the runs themselves, and what it leaves because somebody may hold it.

import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownerName } from "../../src/exec/owner-name.ts";
import { type RecoverOptions, recoverRuns } from "../../src/index.ts";
import { ownIdentity } from "../../src/journal/process-identity.ts";
import { requestDirectory, requestStop } from "../../src/journal/stop-requests.ts";
import { claimWorkspace } from "../../src/supervisor/workspace.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import {
  admittedLine,
  commandHook,
  deadOwner,
  goneSupervisor,
  markerOf,
  type Stray,
  startStray,
  writeJournal,
} from "./lost-run.ts";
import { journalsOf, stateDirOf } from "./support.ts";

let place: Place;
let stray: Stray | undefined;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  stray?.child.kill("SIGKILL");
  stray = undefined;
  await place.remove();
});

const recover = (options: RecoverOptions = {}) =>
  recoverRuns({ stateDir: stateDirOf(place), env: place.env, ...options });
/** A hook of which a variable is not there: it cannot be delivered. */
const undeliverable = async () => [await commandHook(place, { envNames: ["NOT_THERE"] })];

describe("the entry of a workspace", () => {
  const folder = () => join(stateDirOf(place), "workspaces");
  const entries = () => readdirSync(folder());
  const enter = async (runId: string, supervisor: object | null = goneSupervisor()) => {
    const cwd = join("/", runId);
    const signal = new AbortController().signal;
    await claimWorkspace({ stateDir: stateDirOf(place), runId, cwd, use: "exclusive", signal });
    const path = join(folder(), entries().find((name) => name.endsWith(`.${runId}.json`)) ?? "");
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), supervisor }));
    return path;
  };

  test("of a run that was recovered is removed", async () => {
    await enter("r1");
    await writeJournal(place, "r1", [admittedLine(place, "r1")]);
    expect(await recover()).toMatchObject([{ state: "recovered" }]);
    expect(entries()).toEqual([]);
  });

  test("of a run whose agent_exit cannot be delivered is removed", async () => {
    await enter("r1");
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain: await undeliverable() })]);
    expect(await recover()).toMatchObject([{ state: "open" }]);
    expect(entries()).toEqual([]);
  });

  test("of a run that died before it was admitted is removed", async () => {
    await enter("r1");
    expect(await recover()).toEqual([]);
    expect(entries()).toEqual([]);
  });

  test("of a run on another machine stays until it is called dead, also when it stays open", async () => {
    const supervisor = { ...ownIdentity(), bootId: "another boot", machine: "another" };
    await enter("r1", supervisor);
    const exitChain = await undeliverable();
    await writeJournal(place, "r1", [admittedLine(place, "r1", { supervisor, exitChain })]);
    expect(await recover()).toMatchObject([{ state: "elsewhere" }]);
    expect(entries()).toHaveLength(1);
    expect(await recover({ assumeDead: true })).toMatchObject([{ state: "open" }]);
    expect(entries()).toEqual([]);
  });

  test.each([
    ["with its supervisor", () => ownIdentity()],
    ["whose supervisor has ended", () => null],
    ["whose supervisor was killed", () => goneSupervisor()],
  ])("of a run %s stays while a process of it lives", async (_which, supervisor) => {
    stray = await startStray(place, { marker: "r1" });
    // A run's id is the marker of its processes.
    await enter(markerOf("r1"), supervisor());
    await recover();
    expect(entries()).toHaveLength(1);
  });

  test("that is none is left", async () => {
    await mkdir(folder(), { recursive: true });
    await writeFile(join(folder(), "odd.json"), "no");
    await recover();
    expect(entries()).toEqual(["odd.json"]);
  });

  test("that was begun by a killed program is removed, and one of a living one is not", async () => {
    await mkdir(folder(), { recursive: true });
    const base = `${"0".repeat(32)}.r1.json`;
    for (const owner of [deadOwner(), ownerName()])
      await writeFile(join(folder(), `${base}.${owner}.new`), "");
    await recover();
    expect(entries()).toEqual([`${base}.${ownerName()}.new`]);
  });
});

describe("a lock", () => {
  const age = async (path: string, ageMs: number) => {
    await mkdir(path, { recursive: true });
    const then = new Date(Date.now() - ageMs);
    await utimes(path, then, then);
    return path;
  };

  test.each(["starts", "workspaces"])(
    "in %s is removed when its holder is dead for long enough",
    async (folder) => {
      const base = join(stateDirOf(place), folder);
      const [old, young] = [
        await age(join(base, "old.lock"), 60_000),
        await age(join(base, "young.lock"), 0),
      ];
      await recover();
      expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
    },
  );

  test("of a journal that was put away is removed, one of a journal that is there is its recoverer's", async () => {
    await mkdir(journalsOf(place), { recursive: true, mode: 0o700 });
    const [away, there, young] = [
      await age(join(journalsOf(place), "away.jsonl.lock"), 60_000),
      await age(join(journalsOf(place), "there.jsonl.lock"), 60_000),
      await age(join(journalsOf(place), "young.jsonl.lock"), 10_000),
    ];
    await writeJournal(place, "there", [admittedLine(place, "there", { supervisor: ownIdentity() })]);
    await recover();
    expect([away, there, young].map((path) => existsSync(path))).toEqual([false, true, true]);
  });
});

describe("a request to stop", () => {
  const requests = () => readdirSync(requestDirectory(stateDirOf(place)));

  test("is removed with the run, and when there is no such run any more", async () => {
    await writeJournal(place, "r1", [admittedLine(place, "r1")]);
    for (const runId of ["r1", "gone"]) await requestStop(stateDirOf(place), runId);
    expect(await recover()).toMatchObject([{ state: "recovered" }]);
    expect(requests()).toEqual([]);
  });

  test("of a run that stays open is removed", async () => {
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain: await undeliverable() })]);
    await requestStop(stateDirOf(place), "r1");
    expect(await recover()).toMatchObject([{ state: "open" }]);
    expect(requests()).toEqual([]);
  });

  test("is an empty file named for a run: nothing else is removed, and no link is followed", async () => {
    const folder = requestDirectory(stateDirOf(place));
    await mkdir(join(folder, "folder"), { recursive: true });
    await writeFile(join(folder, "letter"), "words");
    await writeFile(join(folder, ".hidden"), "");
    await recover();
    expect(requests()).toEqual([".hidden", "folder", "letter"]);
    const other = join(place.home, "other");
    await mkdir(other);
    await writeFile(join(other, "mine"), "");
    await rm(folder, { recursive: true });
    await symlink(other, folder);
    await recover();
    expect(readdirSync(other)).toEqual(["mine"]);
  });

  test("of a run whose supervisor lives, or cannot be seen, stays", async () => {
    await writeJournal(place, "r1", [admittedLine(place, "r1", { supervisor: ownIdentity() })]);
    const supervisor = { ...ownIdentity(), bootId: "another boot", machine: "another" };
    await writeJournal(place, "r2", [admittedLine(place, "r2", { supervisor })]);
    for (const runId of ["r1", "r2"]) await requestStop(stateDirOf(place), runId);
    await recover();
    expect(requests()).toEqual(["r1", "r2"]);
  });
});
