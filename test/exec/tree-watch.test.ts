// Who is known to belong to a tree, from process tables that are written here, and from real processes.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTimeOf } from "../../src/exec/sweep.ts";
import { endWatched, watchTree } from "../../src/exec/tree-watch.ts";
import { startChild } from "../../src/spawn/child.ts";
import { endTree, sweepTree } from "../../src/spawn/stop.ts";
import { isAlive } from "../spawn/support.ts";

const kill = (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal);

describe("a look at the process table", () => {
  let procRoot: string;
  beforeEach(async () => {
    procRoot = await mkdtemp(join(tmpdir(), "bridle-proc-"));
  });
  afterEach(() => rm(procRoot, { recursive: true, force: true }));

  /** Lines `pid parent group start state?`. */
  async function table(...lines: string[]) {
    await rm(procRoot, { recursive: true, force: true });
    for (const line of lines) {
      const [pid, parent, group, start, state = "S"] = line.split(" ");
      await mkdir(join(procRoot, String(pid)), { recursive: true });
      const stat = `${pid} (a) b) ${state} ${parent} ${group} ${"0 ".repeat(16)}${start} 0`;
      await writeFile(join(procRoot, String(pid), "stat"), stat);
    }
  }
  const watch = () => watchTree({ pid: 10, startTime: "1", groupId: 10, procRoot });
  const pidsOf = (found: readonly { pid: number }[]) => found.map(({ pid }) => pid).sort();

  test("finds children of children, whatever their group, and nobody else", async () => {
    await table("1 0 1 0", "10 1 10 1", "11 10 11 2", "12 11 12 3", "99 1 99 4");
    expect(pidsOf(watch().look())).toEqual([10, 11, 12]);
  });

  test("keeps who was known when its parent is gone, with what it has started since", async () => {
    const tree = watch();
    await table("1 0 1 0", "10 1 10 1", "11 10 11 2");
    tree.look();
    await table("1 0 1 0", "11 1 11 2", "12 11 12 9", "13 1 13 9");
    expect(pidsOf(tree.look())).toEqual([11, 12]);
  });

  test("does not take another process with a known pid", async () => {
    const tree = watch();
    await table("1 0 1 0", "10 1 10 1", "11 10 11 2");
    tree.look();
    await table("1 0 1 0", "11 1 11 7", "12 11 12 8");
    expect(tree.look()).toEqual([]);
  });

  test("takes the group's members when nobody else can have its id, or a known one is in it", async () => {
    await table("1 0 1 0", "14 1 10 2");
    const stranger = watch();
    expect(stranger.look()).toEqual([]);
    expect(stranger.ownsGroup()).toBe(false);
    const tree = watch();
    expect(pidsOf(tree.look({ isGroupOurs: true }))).toEqual([14]);
    expect(tree.ownsGroup()).toBe(true);
    await table("1 0 1 0", "14 1 10 2", "15 1 10 3");
    expect(pidsOf(tree.look())).toEqual([14, 15]);
  });

  test("counts a zombie as dead, and the children it had as its own", async () => {
    await table("1 0 1 0", "10 1 10 1 Z", "11 10 11 2");
    const tree = watch();
    expect(pidsOf(tree.look())).toEqual([11]);
    expect(tree.ownsGroup()).toBe(false);
  });

  test("owns the group where there is no process table", () => {
    const tree = watchTree({ pid: 10, groupId: 10, procRoot: join(procRoot, "none") });
    expect(tree.look()).toEqual([]);
    expect(tree.ownsGroup()).toBe(true);
  });
});

describe.skipIf(process.platform !== "linux")("the end of a watched tree", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });
  const startGroup = async (script: string) => {
    const child = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"], detached: true });
    children.push(child);
    const [chunk] = await once(child.stdout, "data");
    return { child, pid: child.pid as number, said: String(chunk).trim().split(" ").map(Number) };
  };

  test("reaches a child without marker whose parent was there at the look and is not now", async () => {
    const { child, pid, said } = await startGroup("env -i setsid sleep 1000 & echo $!; wait");
    const tree = watchTree({ pid, groupId: pid });
    tree.look();
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(said.map(isAlive)).toEqual([true]);
    expect(await endWatched(tree, { kill })).toEqual([]);
    expect(said.map(isAlive)).toEqual([false]);
  });

  test("reaches a child without marker that was in the group when the agent exited", async () => {
    const start = { program: "/bin/sh", env: { PATH: process.env.PATH ?? "" }, cwd: "/" };
    const child = await startChild({ ...start, argv: ["-c", "env -i sleep 1000 & echo $!"] });
    const [chunk] = await once(child.stdout, "data");
    await child.exited;
    expect(isAlive(Number(String(chunk)))).toBe(true);
    expect(await endTree(child, "none")).toMatchObject({ state: "swept", survivors: [] });
    expect(isAlive(Number(String(chunk)))).toBe(false);
  });

  test("tells who stays", async () => {
    const { pid } = await startGroup("echo 1; exec sleep 1000");
    const left = await endWatched(watchTree({ pid, groupId: pid }), { kill: () => {}, deadlineMs: 30 });
    expect(left).toEqual([{ pid, startTime: startTimeOf(pid) }].map((it) => expect.objectContaining(it)));
  });

  test("leaves a group alone whose id may be another's, and names its members", async () => {
    const { pid } = await startGroup("echo 1; exec sleep 1000");
    const tree = watchTree({ pid, groupId: pid, startTime: "1" });
    expect(await sweepTree({ groupId: pid, marker: "none", tree })).toMatchObject({
      state: "unproven",
      survivors: [pid],
    });
    expect(isAlive(pid)).toBe(true);
  });
});
