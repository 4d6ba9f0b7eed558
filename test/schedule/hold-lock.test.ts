import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type HeldLock, holdLock } from "../../src/index.ts";
import { ownIdentity } from "../../src/journal/process-identity.ts";
import { DIST } from "../journal/support.ts";

let stateDir: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "bridle-lock-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(stateDir, { recursive: true, force: true });
});

const hold = (waitMs = 0, name = "nightly") => holdLock(name, { stateDir, waitMs });
const held = async (waitMs?: number, name?: string) => {
  const lock = await hold(waitMs, name);
  if (!lock.isHeld) throw new Error(lock.holder.detail);
  return lock as HeldLock & { isHeld: true };
};
const files = () => readdirSync(join(stateDir, "locks"));

function start(program: string): ChildProcess & { said: () => string } {
  const index = JSON.stringify(join(DIST, "index.js"));
  const text = `const { holdLock } = await import(${index}); const stateDir = ${JSON.stringify(stateDir)};\n${program}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
    said += piece;
  });
  return Object.assign(child, { said: () => said });
}
const until = (child: { said: () => string }, text: string) =>
  expect.poll(() => child.said(), { timeout: 20_000 }).toContain(text);

const HOLD = `
const lock = await holdLock("nightly", { stateDir });
console.log(lock.isHeld ? "held" : "not held: " + lock.holder.detail);
setInterval(() => {}, 1000);
`;

describe("a lock", () => {
  test("is one holder's until it is given back, and leaves no file", async () => {
    const first = await held();
    expect(await hold()).toMatchObject({
      isHeld: false,
      holder: { pid: process.pid, since: expect.any(String) },
    });
    first.release();
    first.release();
    const second = await held();
    first.release(); // is another's by now
    expect((await hold()).isHeld).toBe(false);
    second.release();
    expect(files()).toEqual([]);
  });

  test("of another name is another lock, and any name can be one", async () => {
    const names = ["a", "b", "../../x", "ä/ö", "a b\nc"];
    for (const name of names) await held(0, name);
    for (const name of names) expect((await hold(0, name)).isHeld, name).toBe(false);
    expect(files().every((name) => /^[0-9a-f]{32}\.json$/.test(name))).toBe(true);
  });

  test.each([
    ["", {}],
    [7, {}],
    ["x".repeat(201), {}],
    ["x", { waitMs: -1 }],
    ["x", { wait: 1 }],
    ["x", { signal: 1 }],
  ])("%j with %j is refused", async (name, options) => {
    await expect(holdLock(name as string, options as never)).rejects.toMatchObject({
      issues: [{ code: "option_invalid" }],
    });
  });

  test("that is waited for comes when it is given back, and an abort ends the wait", async () => {
    const first = await held();
    const waiting = hold(60_000);
    const aborting = new AbortController();
    const aborted = holdLock("nightly", {
      stateDir,
      waitMs: Number.POSITIVE_INFINITY,
      signal: aborting.signal,
    });
    aborting.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    first.release();
    expect((await waiting).isHeld).toBe(true);
  });
});

describe("the lock of a process", () => {
  test("that lives is held, and of one that was killed is free at once", async () => {
    const child = start(HOLD);
    await until(child, "held");
    expect(await hold()).toMatchObject({ isHeld: false, holder: { pid: child.pid } });
    child.kill("SIGKILL");
    await once(child, "close");
    expect((await hold()).isHeld).toBe(true);
  });

  const forge = async (change: object) => {
    const lock = await held();
    lock.release();
    const record = {
      name: "nightly",
      token: "11111111-aaaa-4aaa-8aaa-000000000001",
      since: "2026-07-01T10:00:00.000Z",
      holder: { ...ownIdentity(), ...change },
    };
    writeFileSync(lock.path, JSON.stringify(record));
    return lock.path;
  };

  test("whose pid is another process's by now is free", async () => {
    await forge({ startTime: "1" });
    expect((await hold()).isHeld).toBe(true);
  });

  test("of before the machine's last boot is free; of another machine it is held, and says so", async () => {
    await forge({ bootId: "00000000-0000-4000-8000-000000000000" });
    const lock = await held();
    lock.release();
    const path = await forge({ bootId: "00000000-0000-4000-8000-000000000000", machine: "elsewhere" });
    expect(await hold()).toMatchObject({
      isHeld: false,
      holder: { detail: expect.stringContaining(`another machine or in another pid namespace`) },
    });
    expect(readFileSync(path, "utf8")).toContain("elsewhere");
  });

  test("that cannot be read is held, and says what to do", async () => {
    const lock = await held();
    writeFileSync(lock.path, "{}");
    expect(await hold()).toMatchObject({
      isHeld: false,
      holder: { detail: expect.stringContaining("remove it") },
    });
  });
});

test("of many that want a dead holder's lock at once, one at a time has it", async () => {
  const dead = start(HOLD);
  await until(dead, "held");
  dead.kill("SIGKILL");
  await once(dead, "close");
  const log = join(stateDir, "log");
  const program = `
    import { appendFileSync } from "node:fs";
    import { setTimeout as delay } from "node:timers/promises";
    console.log("ready");
    for (let round = 0; round < 3; round += 1) {
      const lock = await holdLock("nightly", { stateDir, waitMs: 120_000 });
      if (!lock.isHeld) throw new Error(lock.holder.detail);
      appendFileSync(${JSON.stringify(log)}, "in " + process.pid + "\\n");
      await delay(20);
      appendFileSync(${JSON.stringify(log)}, "out " + process.pid + "\\n");
      // The last one dies with the lock.
      if (round === 2) process.kill(process.pid, "SIGKILL");
      lock.release();
    }
  `;
  const rivals = Array.from({ length: 5 }, () => start(program));
  await Promise.all(rivals.map((child) => once(child, "close")));
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  expect(lines).toHaveLength(5 * 3 * 2);
  for (let at = 0; at < lines.length; at += 2)
    expect(lines[at + 1], `line ${at + 1}`).toBe(lines[at]?.replace("in", "out"));
}, 120_000);
