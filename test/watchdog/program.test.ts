// The watchdog's program alone, under each sh there is: what it ends, what it leaves alone, what it removes.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, lstatSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTimeOf } from "../../src/exec/sweep.ts";
import {
  END_OF_PROGRAM,
  WATCHDOG_LOADER,
  WATCHDOG_PROGRAM,
  watchdogEnv,
} from "../../src/watchdog/program.ts";
import { encodeRun, type WatchedRun } from "../../src/watchdog/watchdog.ts";
import { isAlive } from "../spawn/support.ts";
import { waitUntil } from "./support.ts";

const SHELLS: readonly (readonly string[])[] = [
  ["/bin/sh"],
  ["dash"],
  ["bash", "--posix"],
  ["busybox", "sh"],
  ["ksh"],
  ["mksh"],
].filter(([program = ""]) => spawnSync(program, ["-c", ":"]).error === undefined);

let folder: string;
const started: ChildProcess[] = [];
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bridle-watchdog-")));
});
afterEach(async () => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

interface Agent {
  readonly pid: number;
  readonly run: WatchedRun;
}

/** Ids of this process alone: a watchdog ends whatever carries a marker, also in tests that run beside it. */
const UNIQUE = randomUUID().slice(0, 8);
const idOf = (name: string) => `${name}-${UNIQUE}`;

/** A process in a group of its own that carries the marker; `script` may start more and print their pids to `$PIDS`. */
async function startAgent(name: string, script = ":"): Promise<Agent> {
  const runId = idOf(name);
  const child = spawn("/bin/sh", ["-c", `${script}\necho up >>"$PIDS"\nexec sleep 1000`], {
    detached: true,
    stdio: "ignore",
    env: { PATH: process.env.PATH, PIDS: join(folder, runId), BRIDLE_RUN_MARKER: runId },
  });
  started.push(child);
  const pid = child.pid as number;
  await waitUntil(async () => (await readPids(name)).includes("up"));
  const startTime = startTimeOf(pid) as string;
  return { pid, run: { runId, pid, startTime, groupId: pid, marker: runId } };
}

const pathOf = (name: string) =>
  name.startsWith("/") ? name : (["/bin", "/usr/bin"].map((dir) => join(dir, name)).find(existsSync) ?? name);

async function readPids(name: string): Promise<string[]> {
  return (await readFile(join(folder, idOf(name)), "utf8").catch(() => ""))
    .split("\n")
    .filter((it) => it !== "");
}

const childrenOf = async (name: string) => (await readPids(name)).filter((it) => it !== "up").map(Number);

/** Tells the program these lines, closes the pipe and waits for its end. */
async function runProgram(
  shell: readonly string[],
  lines: string,
  { env = {}, text = WATCHDOG_PROGRAM }: { env?: Record<string, string>; text?: string } = {},
): Promise<void> {
  // By its path: the program may be given another PATH.
  const [program = "", ...args] = shell.map((word, index) => (index === 0 ? pathOf(word) : word));
  const child = spawn(program, [...args, "-c", WATCHDOG_LOADER, "watchdog"], {
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"],
    env: watchdogEnv(env),
  });
  started.push(child);
  child.stdin?.end(`${text}\n${END_OF_PROGRAM}\n${lines}`);
  await once(child, "exit");
}

describe.each(SHELLS)("under %s %s", (...shell) => {
  test("the agent's group, a child in its own session and one that cleared its environment are ended", async () => {
    const { pid, run } = await startAgent(
      "one",
      'sleep 1000 & echo $! >>"$PIDS"; setsid sleep 1000 & echo $! >>"$PIDS"; env -i setsid sleep 1000 & echo $! >>"$PIDS"',
    );
    const children = await childrenOf("one");
    await runProgram(shell, encodeRun(1, run));
    expect([pid, ...children].filter(isAlive)).toEqual([]);
    expect(children).toHaveLength(3);
  });

  test("a double-forked daemon is found by its marker, also by a nested one", async () => {
    const { run } = await startAgent(
      "two",
      `(setsid sh -c 'echo $$ >>"$PIDS"; exec sleep 1000' &)
       (BRIDLE_RUN_MARKER=outer:${idOf("two")}:inner setsid sh -c 'echo $$ >>"$PIDS"; exec sleep 1000' &)
       while [ "$(grep -c . "$PIDS")" != 2 ]; do sleep 0.01; done`,
    );
    const daemons = await childrenOf("two");
    expect(daemons).toHaveLength(2);
    await runProgram(shell, encodeRun(1, run));
    expect(daemons.filter(isAlive)).toEqual([]);
  });

  test("a child whose name looks like another line of the process table is ended", async () => {
    const { run } = await startAgent(
      "odd",
      `env -i sh -c 'printf "a\\n1 (b) Z 1" >/proc/$$/comm; while :; do sleep 1000; done' & echo $! >>"$PIDS"
       while ! grep -q "(b)" /proc/$!/stat; do sleep 0.01; done`,
    );
    const children = await childrenOf("odd");
    await runProgram(shell, encodeRun(1, { ...run, marker: "none", groupId: 0 }));
    expect(children.filter(isAlive)).toEqual([]);
    expect(children).toHaveLength(1);
  });

  test("an orphan that cleared its environment and stayed in the agent's group is ended", async () => {
    const { run } = await startAgent(
      "orphan",
      `(env -i sh -c 'echo $$ >>"$0"; exec sleep 1000' "$PIDS" &)
      while [ "$(grep -c . "$PIDS")" != 1 ]; do sleep 0.01; done`,
    );
    const orphans = await childrenOf("orphan");
    await runProgram(shell, encodeRun(1, run));
    expect(orphans).toHaveLength(1);
    expect(orphans.filter(isAlive)).toEqual([]);
  });

  test("without a grep the tree is ended all the same", async () => {
    const { pid, run } = await startAgent("bare", 'env -i setsid sleep 1000 & echo $! >>"$PIDS"');
    const children = await childrenOf("bare");
    await runProgram(shell, encodeRun(1, run), { env: { PATH: join(folder, "nothing") } });
    expect([pid, ...children].filter(isAlive)).toEqual([]);
  });

  test("the marker alone is enough for a run whose process is not known yet", async () => {
    const { pid } = await startAgent("three");
    await runProgram(shell, encodeRun(1, { runId: idOf("three"), marker: idOf("three") }));
    expect(isAlive(pid)).toBe(false);
  });

  test("a process of another start time, of another run or with a longer marker is left alone", async () => {
    const [other, longer] = [await startAgent("four"), await startAgent("five")];
    const stranger = { ...other.run, runId: "x", marker: "x", startTime: "1" };
    await runProgram(
      shell,
      encodeRun(1, stranger) + encodeRun(2, { runId: "five", marker: idOf("five").slice(0, -1) }),
    );
    expect([other.pid, longer.pid].map(isAlive)).toEqual([true, true]);
  });

  test("a run that was removed is left alone, and a slot that was given again holds the new run", async () => {
    const [removed, replaced, last] = [
      await startAgent("six"),
      await startAgent("seven"),
      await startAgent("eight"),
    ];
    await runProgram(
      shell,
      `${encodeRun(1, removed.run)}- 1\n${encodeRun(2, replaced.run)}${encodeRun(2, last.run)}`,
    );
    expect([removed.pid, replaced.pid, last.pid].map(isAlive)).toEqual([true, true, false]);
  });

  test("a line that was cut by the end is not acted upon", async () => {
    const { pid, run } = await startAgent("nine");
    await runProgram(shell, encodeRun(1, run).slice(0, -1));
    expect(isAlive(pid)).toBe(true);
  });

  test("the run directory is removed, whatever its path and its files are called", async () => {
    const path = join(folder, 'it\'s  a * "$HOME" `id` \\ dir', "run-1");
    await mkdir(join(path, "s"), { recursive: true });
    await writeFile(join(path, "s", "shim"), "");
    for (const name of [".hidden", "..odd", "-rf", "with\nbreak", "*"]) await writeFile(join(path, name), "");
    await symlink(folder, join(path, "link"));
    await chmod(join(path, "s"), 0o500);
    const { dev, ino } = lstatSync(path);
    await runProgram(
      shell,
      encodeRun(1, { runId: "run-1", marker: "run-1", runDirectory: { path, dev, ino } }),
    );
    expect(existsSync(path)).toBe(false);
    expect(existsSync(folder)).toBe(true);
  });

  test("a directory with another identity, and one behind a link, are left alone", async () => {
    const path = join(folder, "run-2");
    const real = join(folder, "elsewhere");
    await mkdir(path);
    await mkdir(real);
    await writeFile(join(real, "kept"), "");
    await symlink(real, join(folder, "run-3"));
    const { dev, ino } = lstatSync(path);
    const behind = lstatSync(real);
    await runProgram(
      shell,
      encodeRun(1, { runId: "run-2", marker: "m", runDirectory: { path, dev, ino: ino + 1 } }) +
        encodeRun(2, {
          runId: "run-3",
          marker: "m",
          runDirectory: { path: join(folder, "run-3"), dev: behind.dev, ino: behind.ino },
        }),
    );
    expect([path, join(real, "kept"), join(folder, "run-3")].map((it) => existsSync(it))).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("a directory that is not named for the run is left alone, although it is the one told", async () => {
    const path = join(folder, "odd");
    await mkdir(path);
    const { dev, ino } = lstatSync(path);
    await runProgram(shell, `+ 1 0 0 0 m run-5 ${dev}:${ino} ${path}\n`);
    expect(existsSync(path)).toBe(true);
  });

  test("a linked shim folder does not change what it leads to", async () => {
    const path = join(folder, "run-4");
    const real = join(folder, "mode");
    await mkdir(path);
    await mkdir(real, { mode: 0o555 });
    await symlink(real, join(path, "s"));
    const { dev, ino } = lstatSync(path);
    await runProgram(shell, encodeRun(1, { runId: "run-4", marker: "m", runDirectory: { path, dev, ino } }));
    expect(lstatSync(real).mode & 0o777).toBe(0o555);
    expect(existsSync(path)).toBe(false);
  });

  test("a grep that is deaf behind a NUL byte is given lines", async () => {
    const { pid } = await startAgent("ten");
    const bin = join(folder, "bin");
    await mkdir(bin);
    // Fails on every file of an environment, as one that stops at a NUL would find nothing behind it.
    await writeFile(
      join(bin, "grep"),
      '#!/bin/sh\ncase "$*" in */environ*) exit 1 ;; esac\nexec /usr/bin/grep "$@"\n',
      { mode: 0o755 },
    );
    await runProgram(shell, encodeRun(1, { runId: idOf("ten"), marker: idOf("ten") }), {
      env: { PATH: `${bin}:/usr/bin:/bin` },
    });
    expect(isAlive(pid)).toBe(false);
  });
});

test("twenty agents with their children are ended together", async () => {
  const script = 'for i in 1 2 3; do setsid sleep 1000 & echo $! >>"$PIDS"; done';
  const ids = Array.from({ length: 20 }, (_, index) => `many-${index}`);
  const agents = await Promise.all(ids.map((id) => startAgent(id, script)));
  const children = (await Promise.all(ids.map(childrenOf))).flat();
  expect(children).toHaveLength(60);
  await runProgram(["/bin/sh"], agents.map(({ run }, index) => encodeRun(index + 1, run)).join(""));
  expect([...agents.map(({ pid }) => pid), ...children].filter(isAlive)).toEqual([]);
});

test("without /proc the groups that were told are ended", async () => {
  const { pid, run } = await startAgent("eleven", 'sleep 1000 & echo $! >>"$PIDS"');
  const children = await childrenOf("eleven");
  await runProgram(["/bin/sh"], encodeRun(1, run), {
    text: WATCHDOG_PROGRAM.replaceAll("/proc/", "/nonexistent/"),
  });
  await waitUntil(() => [pid, ...children].filter(isAlive).length === 0, "the end of the group");
});

test("a program that was cut is not run", async () => {
  const child = spawn("/bin/sh", ["-c", WATCHDOG_LOADER], { stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.end(`: >'${folder}/ran'\n`);
  await once(child, "exit");
  expect(existsSync(join(folder, "ran"))).toBe(false);
});

test.each([
  ["a run id with a space", { runId: "a b" }],
  ["a marker with a line break", { marker: "a\nb" }],
  ["a path with a line break", { runDirectory: { path: "/a\nb/r", dev: 1, ino: 1 } }],
  ["a path that does not end in the run id", { runDirectory: { path: "/a/other", dev: 1, ino: 1 } }],
  ["a negative group", { groupId: -1 }],
  ["a pid that is no number", { pid: Number.NaN }],
])("%s is refused", (_what, odd) => {
  expect(() => encodeRun(1, { runId: "r", marker: "r", ...odd })).toThrow(TypeError);
});
