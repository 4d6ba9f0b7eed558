// What recovery does with a record: whom it signals, what it removes, which record it closes.

import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import lockfile from "proper-lockfile";
import { describe, expect, test } from "vitest";
import { startTimeOf } from "../../src/exec/sweep.ts";
import { ENDED_KEPT, pruneEnded } from "../../src/journal/file.ts";
import { ownIdentity } from "../../src/journal/process-identity.ts";
import { isAlive } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { admittedLine, commandHook, lostRunsOfEachTest, readTold, writeJournal } from "./lost-run.ts";
import { journalsOf, stateDirOf } from "./support.ts";

const lost = lostRunsOfEachTest();
const { recover, stray } = lost;

describe("processes", () => {
  test("a proven agent is ended with its tree, also where nothing carries the marker", async () => {
    const { pid, line } = await stray({
      script: 'setsid sleep 1000 & echo $! >>"$PIDS"; sleep 1000 & echo $! >>"$PIDS"',
    });
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1"), line]);
    const children = (await readFile(join(lost.place.home, "pids"), "utf8")).trim().split("\n").map(Number);
    expect(children.filter(isAlive)).toHaveLength(2);
    expect(await recover()).toMatchObject([{ agent: "ended", extinction: { state: "swept" } }]);
    expect([pid, ...children].filter(isAlive)).toEqual([]);
  });

  test("a process with the marker is ended, although no agent was written down", async () => {
    const { pid } = await stray({ marker: "r1" });
    const other = await stray({ marker: "r2" });
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1")]);
    expect(await recover()).toMatchObject([{ agent: "never_started" }]);
    expect([pid, other.pid].map(isAlive)).toEqual([false, true]);
  });

  test("a persistent guard of the run is ended, and no other run's", async () => {
    const { pid, line } = await stray({ marker: "r1" });
    const guard = await stray({ marker: "r1", isGuard: true });
    const other = await stray({ marker: "r2", isGuard: true });
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1"), line]);
    expect(await recover()).toMatchObject([
      { agent: "ended", extinction: { state: "swept", survivors: [] } },
    ]);
    expect([pid, guard.pid, other.pid].map(isAlive)).toEqual([false, false, true]);
  });

  test("after a reboot nothing is signalled", async () => {
    const { pid, line } = await stray({ marker: "r1" });
    const supervisor = { ...ownIdentity(), bootId: "another boot" };
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { supervisor }), line]);
    expect(await recover()).toMatchObject([{ state: "recovered", agent: "rebooted" }]);
    expect(isAlive(pid)).toBe(true);
  });

  test.each([
    ["in another pid namespace", { startTime: "1", pidNamespace: "pid:[1]" }],
    ["on another machine", { bootId: "another boot", machine: "another" }],
  ])(
    "a supervisor %s is left alone unless called dead, and its pids are never signalled",
    async (_where, is) => {
      const { pid, line } = await stray({ marker: "r1" });
      const supervisor = { ...ownIdentity(), ...is };
      await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { supervisor }), line]);
      expect(await recover()).toMatchObject([{ state: "elsewhere" }]);
      expect(await recover({ assumeDead: true })).toMatchObject([
        { state: "recovered", extinction: { state: "unproven" } },
      ]);
      expect(isAlive(pid)).toBe(true);
    },
  );

  test("a supervisor that is a zombie is dead", async () => {
    // The shell becomes a sleep that never waits for its child.
    const child = '(until [ -e "$UP" ]; do sleep 0.01; done; sleep 0.3) & echo $! >"$PIDS"';
    const { pid } = await stray({ script: child });
    const zombie = Number(await readFile(join(lost.place.home, "pids"), "utf8"));
    await waitUntil(() => /^State:\sZ/m.test(readFileSync(`/proc/${zombie}/status`, "latin1")), "a zombie");
    const supervisor = { ...ownIdentity(), pid: zombie, startTime: startTimeOf(zombie) ?? null };
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { supervisor })]);
    expect(await recover()).toMatchObject([{ state: "recovered" }]);
    expect(isAlive(pid)).toBe(true);
  });

  test("a run whose supervisor lives is left alone", async () => {
    const { pid, line } = await stray({ marker: "r1" });
    await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1", { supervisor: ownIdentity() }),
      line,
    ]);
    expect(await recover()).toMatchObject([{ state: "running" }]);
    expect(isAlive(pid)).toBe(true);
  });

  test("members of a group whose leader is gone are told and not signalled when nothing proves them", async () => {
    const { pid, child, line } = await stray({ script: 'sleep 1000 & echo $! >>"$PIDS"' });
    const member = Number(await readFile(join(lost.place.home, "pids"), "utf8"));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(pid, "SIGKILL");
    await ended;
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1"), line]);
    expect(await recover()).toMatchObject([
      { agent: "gone", extinction: { state: "unproven", survivors: [member] } },
    ]);
    expect(isAlive(member)).toBe(true);
    process.kill(member, "SIGKILL");
  });
});

describe("directories", () => {
  const prepare = async (runId = "r1") => {
    const path = join(lost.place.home, "run", runId);
    const tmp = join(lost.place.home, `bridle-${runId}`);
    await mkdir(join(path, "s"), { recursive: true });
    await writeFile(join(path, "s", "shim"), "");
    await chmod(join(path, "s"), 0o500);
    await mkdir(tmp);
    const of = (it: string) => ({ path: it, dev: lstatSync(it).dev, ino: lstatSync(it).ino });
    const at = new Date().toISOString();
    return { path, tmp, line: { type: "prepared", at, runDirectory: of(path), tmpDir: of(tmp) } as const };
  };

  test("are removed", async () => {
    const { path, tmp, line } = await prepare();
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1"), line]);
    expect(await recover()).toMatchObject([{ directories: [{ state: "removed" }, { state: "removed" }] }]);
    expect([path, tmp].map((it) => existsSync(it))).toEqual([false, false]);
  });

  test("that are others by now are left and told", async () => {
    const { path, tmp, line } = await prepare();
    await rename(path, `${path}-old`);
    await mkdir(path);
    await rename(tmp, `${tmp}-old`);
    await symlink(`${tmp}-old`, tmp);
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1"), line]);
    expect(await recover()).toMatchObject([{ directories: [{ state: "left" }, { state: "left" }] }]);
    expect([path, `${path}-old`, tmp, `${tmp}-old`].map((it) => existsSync(it))).toEqual(Array(4).fill(true));
  });

  test("that are not named as ours are left", async () => {
    const { path, line } = await prepare("another");
    await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1"),
      { ...line, tmpDir: { ...line.runDirectory } },
    ]);
    expect(await recover()).toMatchObject([{ directories: [{ state: "left" }, { state: "left" }] }]);
    expect(existsSync(path)).toBe(true);
  });

  test("that were planned and not written down are removed where only we can write, and left elsewhere", async () => {
    const { path } = await prepare();
    const line = admittedLine(lost.place, "r1", { plannedDirectory: path });
    chmodSync(join(lost.place.home, "run"), 0o777);
    await writeJournal(lost.place, "r1", [line]);
    expect(await recover()).toMatchObject([{ directories: [{ state: "left" }] }]);
    chmodSync(join(lost.place.home, "run"), 0o700);
    await writeJournal(lost.place, "r1", [line]);
    expect(await recover()).toMatchObject([{ directories: [{ state: "removed" }] }]);
  });

  /** A run that died between the making of its temporary directory and `prepared`. */
  const planTmp = async (name = "bridle-r1") => {
    const parent = join(lost.place.home, "tmp");
    const path = join(parent, name);
    await mkdir(parent, { mode: 0o700 });
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { plannedTmpDir: path })]);
    return { parent, path };
  };

  test.each([
    [0o700, "removed"],
    [0o1777, "removed"],
    [0o777, "left"],
  ])("a temporary one that was planned, in a folder of mode %o, is %s", async (mode, state) => {
    const { parent, path } = await planTmp();
    await mkdir(join(path, "below"), { recursive: true });
    chmodSync(parent, mode);
    expect(await recover()).toMatchObject([{ directories: [{ path, state }] }]);
    expect(existsSync(path)).toBe(state === "left");
  });

  test("a temporary one that is a link by now is left", async () => {
    const { path } = await planTmp();
    await symlink(lost.place.cwd, path);
    expect(await recover()).toMatchObject([{ directories: [{ state: "left", reason: "is no directory" }] }]);
    expect(existsSync(lost.place.cwd)).toBe(true);
  });

  test("a temporary one that others may write to is left", async () => {
    const { path } = await planTmp();
    await mkdir(path);
    chmodSync(path, 0o777);
    expect(await recover()).toMatchObject([{ directories: [{ state: "left" }] }]);
  });

  test("a temporary one that is not named for the run is not looked at", async () => {
    const { path } = await planTmp("bridle-r2");
    await mkdir(path);
    expect(await recover()).toMatchObject([{ state: "recovered", directories: [] }]);
    expect(existsSync(path)).toBe(true);
  });
});

describe("the journal", () => {
  test("that somebody else has locked is left to them", async () => {
    const path = await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1", { exitChain: [await commandHook(lost.place)] }),
    ]);
    const release = await lockfile.lock(path, { realpath: false });
    expect(await recover()).toMatchObject([{ state: "claimed" }]);
    await release();
    expect(await readTold(lost.place)).toEqual([]);
  });

  test("that has ended is moved away and not told", async () => {
    const at = new Date().toISOString();
    const exitDelivery = "delivered" as const;
    await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1"),
      { type: "ended", at, by: "supervisor", outcome: "success", reason: "", exitDelivery },
    ]);
    expect(await recover()).toEqual([]);
    expect(readdirSync(journalsOf(lost.place))).toEqual(["ended"]);
  });

  test("of ended runs is kept for the newest only", async () => {
    const folder = join(journalsOf(lost.place), "ended");
    await mkdir(folder, { recursive: true });
    for (const name of ["a", "b", "c"]) await writeFile(join(folder, name), "");
    await pruneEnded(stateDirOf(lost.place), 2);
    expect(readdirSync(folder)).toHaveLength(2);
    expect(ENDED_KEPT).toBe(256);
  });

  test("and the receipts say how the run ended", async () => {
    const receiptPath = join(lost.place.home, "receipts.jsonl");
    await writeFile(receiptPath, '{"run_id":"r1","seq":4,"at":"x","kind":"fired"}\n{"run_id":"r1","se');
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { receiptPath })]);
    await recover();
    const last = readFileSync(receiptPath, "utf8").trimEnd().split("\n").at(-1) ?? "";
    expect(JSON.parse(last)).toMatchObject({ seq: 5, kind: "run_ended", outcome: "lost", recovered: true });
  });
});

test("only the named runs are looked at, when some are named", async () => {
  const { pid, line } = await stray({ marker: "r1" });
  await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1"), line]);
  await writeJournal(lost.place, "r2", [admittedLine(lost.place, "r2")]);
  expect(await recover({ runIds: ["r2"] })).toMatchObject([{ runId: "r2", state: "recovered" }]);
  expect(isAlive(pid)).toBe(true);
});
