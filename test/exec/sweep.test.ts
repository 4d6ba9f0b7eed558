import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findByMarker, startTimeOf, sweepMarker } from "../../src/exec/sweep.ts";

const NAME = "BRIDLE_TEST_MARKER";
let children: ChildProcess[];
let value: string;
beforeEach(() => {
  children = [];
  value = randomUUID();
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
});

function sleeper(marker: string): ChildProcess {
  const child = spawn("/bin/sleep", ["1000"], { env: { [NAME]: marker }, stdio: "ignore" });
  children.push(child);
  return child;
}
/** A child in the middle of exec shows no environment yet. */
const shown = (marker: string, count: number) =>
  vi.waitFor(() => expect(findByMarker(NAME, marker).processes).toHaveLength(count), {
    timeout: 5_000,
    interval: 5,
  });
const ended = (child: ChildProcess) =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(undefined);
    else child.once("exit", resolve);
  });

describe.skipIf(process.platform !== "linux")("on Linux", () => {
  it("finds exactly the processes that carry the whole value", async () => {
    const mine = sleeper(value);
    sleeper(`${value}x`);
    sleeper(`x${value}`);
    await shown(value, 1);
    const { supported, processes } = findByMarker(NAME, value);
    expect(supported).toBe(true);
    expect(processes.map(({ pid }) => pid)).toEqual([mine.pid]);
  });

  it("finds a nested marker by its outer and by its inner run", async () => {
    const nested = sleeper(`${value}:inner-${value}`);
    await shown(value, 1);
    for (const wanted of [value, `inner-${value}`]) {
      expect(findByMarker(NAME, wanted).processes.map(({ pid }) => pid)).toEqual([nested.pid]);
    }
  });

  it("ends them and counts them", async () => {
    const mine = [sleeper(value), sleeper(value)];
    await shown(value, 2);
    expect(await sweepMarker({ name: NAME, value })).toEqual({ supported: true, found: 2, survivors: [] });
    await Promise.all(mine.map(ended));
    expect(mine.map(({ signalCode }) => signalCode)).toEqual(["SIGKILL", "SIGKILL"]);
  });

  it("ends by the injected kill only, and tells what survived it", async () => {
    const mine = sleeper(value);
    await shown(value, 1);
    const sent: [number, string][] = [];
    const result = await sweepMarker({
      name: NAME,
      value,
      kill: (pid, signal) => sent.push([pid, signal]),
      deadlineMs: 30,
    });
    expect(result.found).toBe(1);
    expect(result.survivors.map(({ pid }) => pid)).toEqual([mine.pid]);
    expect(new Set(sent.map(([pid, signal]) => `${pid} ${signal}`))).toEqual(
      new Set([`${mine.pid} SIGKILL`]),
    );
    expect(mine.signalCode).toBeNull();
  });

  it("a kill that throws is a survivor, not an error", async () => {
    const mine = sleeper(value);
    await shown(value, 1);
    const kill = () => {
      throw new Error("EPERM");
    };
    const { survivors } = await sweepMarker({ name: NAME, value, kill, deadlineMs: 0 });
    expect(survivors.map(({ pid }) => pid)).toEqual([mine.pid]);
  });

  it("looks only at later processes when asked to, and at all when pids may have wrapped", async () => {
    const first = sleeper(value);
    const second = sleeper(value);
    await shown(value, 2);
    const pids = (sincePid?: number) =>
      findByMarker(NAME, value, sincePid === undefined ? {} : { sincePid }).processes.map(({ pid }) => pid);
    expect(pids(second.pid)).toEqual([second.pid]);
    expect(pids(2 ** 30).sort()).toEqual([first.pid, second.pid].sort());
  });

  it("never finds the process that looks", () => {
    const own = Object.entries(process.env).find(([, text]) => text !== undefined && text !== "");
    if (own === undefined) throw new Error("no environment");
    expect(findByMarker(own[0], own[1] ?? "").processes.map(({ pid }) => pid)).not.toContain(process.pid);
  });

  it("knows the start time of a process, also with an odd name, and none of one that is not there", async () => {
    const root = await mkdtemp(join(tmpdir(), "bridle-proc-"));
    await mkdir(join(root, "7"));
    await writeFile(
      join(root, "7", "stat"),
      `7 (a) b (c) S ${Array.from({ length: 18 }, (_, i) => i).join(" ")} 4242 0\n`,
    );
    expect(startTimeOf(7, root)).toBe("4242");
    expect(startTimeOf(8, root)).toBeUndefined();
    await rm(root, { recursive: true });
  });
});

it("without /proc nothing is found, and that is said", async () => {
  const options = { name: NAME, value, procRoot: "/nonexistent" };
  expect(await sweepMarker(options)).toEqual({ supported: false, found: 0, survivors: [] });
});

describe("with a process table of our own", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "bridle-proc-"));
    await mkdir(join(root, "self"));
    await writeFile(join(root, "self", "environ"), "");
  });
  afterEach(() => rm(root, { recursive: true }));

  const stat = (start: number) => `1 (x) S ${Array.from({ length: 18 }, () => 0).join(" ")} ${start} 0\n`;
  async function process(pid: number, start?: number): Promise<void> {
    await mkdir(join(root, String(pid)));
    await writeFile(join(root, String(pid), "environ"), `A=1\0${NAME}=${value}\0`);
    if (start !== undefined) await writeFile(join(root, String(pid), "stat"), stat(start));
  }

  it("a pid that came to belong to another process after the scan is not signalled", async () => {
    await process(7, 1);
    await process(9, 1);
    const sent: number[] = [];
    const kill = (pid: number) => {
      sent.push(pid);
      if (pid !== 7) return;
      // 9 ends and its pid is given to a process without the marker, between the scan and its signal.
      writeFileSync(join(root, "9", "stat"), stat(2));
      writeFileSync(join(root, "9", "environ"), "");
      rmSync(join(root, "7"), { recursive: true });
    };
    const result = await sweepMarker({ name: NAME, value, procRoot: root, kill });
    expect(sent).toEqual([7]);
    expect(result).toEqual({ supported: true, found: 2, survivors: [] });
  });

  it("a process whose start time cannot be told is not signalled", async () => {
    await process(8);
    const sent: number[] = [];
    await sweepMarker({ name: NAME, value, procRoot: root, kill: (pid) => sent.push(pid) });
    expect(sent).toEqual([]);
  });
});
