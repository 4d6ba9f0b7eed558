import { chmod, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Broker, type BrokerOptions, startBroker } from "../../src/broker/broker.ts";
import type { BrokerFault } from "../../src/broker/decide-call.ts";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { ADMITTED_CODE } from "../../src/broker/shim.ts";
import { SHELLS } from "./shells.ts";
import {
  claimsOf,
  endSleepers,
  holdersOf,
  makeRunDirectory,
  makeScratch,
  removeScratch,
  start,
  until,
} from "./support.ts";

let scratch: string;
let directory: RunDirectory;
let broker: Broker | undefined;
let faults: BrokerFault[];
beforeEach(async () => {
  scratch = await makeScratch();
  directory = await makeRunDirectory(scratch);
  faults = [];
});
afterEach(async () => {
  await broker?.close();
  broker = undefined;
  await endSleepers(directory);
  await removeScratch(scratch);
});

async function listen(
  answer: BrokerOptions["answer"],
  overrides: Partial<BrokerOptions> = {},
): Promise<Broker> {
  broker = await startBroker({
    runDirectory: directory,
    events: ["PreToolUse", "Stop"],
    answer,
    deadlineMs: () => 10_000,
    isGate: (event) => event === "PreToolUse",
    onFault: (fault) => faults.push(fault),
    ...overrides,
  });
  return broker;
}

// A deadline far beyond any test: a sleep that is not ended stays to be seen.
const gate = (envelope = "{}", shell: readonly string[] = ["/bin/sh"]) =>
  start([...shell, directory.shimPath, "PreToolUse", "600", "GATE"], envelope);
const stop = (envelope = "{}") => start(["/bin/sh", directory.shimPath, "Stop", "20", "OTHER"], envelope);
const kinds = () => faults.map(({ kind }) => kind);
const forever = () => new Promise<never>(() => {});
const admitted = { code: ADMITTED_CODE, signal: null, stdout: "", stderr: "" };
const quiet = { code: 0, signal: null, stdout: "", stderr: "" };

describe("an answer", () => {
  it("reaches the caller with its event and its envelope byte for byte", async () => {
    const seen: unknown[] = [];
    await listen(async (event, raw, { callId }) => {
      seen.push([event, raw, callId]);
      return { code: 0, stdout: '{"ok":1}', stderr: "" };
    });
    expect(await gate('{"a":"\\\\n é"}\n').result).toEqual({ ...admitted, stdout: '{"ok":1}\n' });
    expect(seen).toEqual([["PreToolUse", '{"a":"\\\\n é"}\n', 1]]);
    expect(faults).toEqual([]);
  });

  it("is told with its call and its code once the caller has it", async () => {
    const told: unknown[] = [];
    await listen(async (event) => ({ code: event === "Stop" ? 0 : 2, stdout: "", stderr: "no" }), {
      onAsked: (...call) => told.push(["asked", ...call]),
      onAnswered: (...call) => told.push(["answered", ...call]),
    });
    await gate().result;
    await stop().result;
    expect(told).toEqual([
      ["asked", "PreToolUse", 1],
      ["answered", "PreToolUse", 1, 2],
      ["asked", "Stop", 2],
      ["answered", "Stop", 2, 0],
    ]);
  });

  it("is told with the code that was sent, not the one that could not be", async () => {
    const codes: number[] = [];
    await listen(async () => ({ code: 1 }) as never, { onAnswered: (_event, _id, code) => codes.push(code) });
    await gate().result;
    expect(codes).toEqual([2]);
  });

  it("that nobody took is not told, and the fault names the call", async () => {
    const codes: number[] = [];
    let release = () => {};
    await listen(
      () =>
        new Promise((resolve) => {
          release = () => resolve({ code: 0, stdout: "", stderr: "" });
        }),
      { onAnswered: (_event, _id, code) => codes.push(code) },
    );
    const call = gate();
    await until("the call is open", async () => broker?.pending === 1);
    call.child.kill("SIGKILL");
    await call.result;
    release();
    await until("the fault is told", async () => faults.length > 0);
    expect(faults).toMatchObject([{ kind: "late", event: "PreToolUse", callId: 1 }]);
    expect(codes).toEqual([]);
  });

  it("carries a deny's reason and JSON", async () => {
    await listen(async () => ({ code: 2, stdout: '{"d":1}', stderr: "not here" }));
    expect(await gate().result).toEqual({ code: 2, signal: null, stdout: '{"d":1}\n', stderr: "not here\n" });
  });

  it.each([
    ["a long context", { code: 0, stdout: JSON.stringify({ context: "é".repeat(100_000) }), stderr: "" }],
    ["a reason of several lines", { code: 2, stdout: "", stderr: "one\ntwo\n" }],
    ["a NUL", { code: 2, stdout: "{}", stderr: "a\0b" }],
  ] as const)("with %s arrives whole, through a file that is gone afterwards", async (_name, answer) => {
    await listen(async () => answer);
    const line = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
    expect(await gate().result).toEqual({
      code: answer.code === 0 ? ADMITTED_CODE : 2,
      signal: null,
      stdout: line(answer.stdout),
      stderr: line(answer.stderr),
    });
    await until("the slot is free", async () => (await claimsOf(directory)).length === 0);
    expect(await readdir(join(directory.path, "b"))).toEqual([]);
  });
});

describe("when there is no answer", () => {
  it.each([
    ["throws", "answer_failed", async () => Promise.reject(new Error("boom"))],
    ["is late", "deadline", forever],
    ["is no answer", "answer_failed", async () => ({ code: 1 }) as never],
  ] as const)("a gate is denied and others are left alone: answer %s", async (_name, fault, answer) => {
    await listen(answer, { deadlineMs: () => 100 });
    expect(await gate().result).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^bridle: .+; denied\n$/),
    });
    expect(await stop().result).toEqual(quiet);
    expect(kinds()).toEqual([fault, fault]);
  });

  it("because a body cannot be stored, a gate is denied", async () => {
    await listen(async () => ({ code: 0, stdout: "x".repeat(5_000), stderr: "" }));
    await rm(join(directory.path, "b"), { recursive: true });
    expect(await gate().result).toMatchObject({ code: 2, stdout: "" });
    expect(kinds()).toContain("reply_failed");
  });

  it("because the broker closes, pending gates are denied, others left alone, and their signals fire", async () => {
    const signals: AbortSignal[] = [];
    const { close } = await listen((_event, _raw, { signal }) => {
      signals.push(signal);
      return forever();
    });
    const calls = [gate(), stop()];
    await until("both wait", () => signals.length === 2);
    expect(broker?.pending).toBe(2);
    await close();
    expect(await calls[0]?.result).toMatchObject({
      code: 2,
      stderr: "bridle: the supervisor is closing; denied\n",
    });
    expect(await calls[1]?.result).toEqual(quiet);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(broker?.pending).toBe(0);
  });

  it("because the event is not registered, the call is denied and told", async () => {
    await listen(forever, { events: ["Stop"] });
    expect(await gate().result).toMatchObject({ code: 2, stderr: expect.stringContaining("PreToolUse") });
    expect(kinds()).toEqual(["request_invalid"]);
  });
});

describe("a caller that is gone", () => {
  it("is a late fault, and its slot serves the next caller without its answer", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let calls = 0;
    await listen(async () => {
      calls += 1;
      if (calls > 1) return { code: 2, stdout: "", stderr: "own deny" };
      await held;
      return { code: 0, stdout: "", stderr: "" };
    });
    const first = gate();
    await until("the first waits", () => calls === 1);
    first.child.kill("SIGKILL");
    await until("the first is gone", () => first.child.signalCode !== null);
    release();
    await until("the fault", () => faults.length > 0);
    expect(kinds()).toEqual(["late"]);
    expect(await gate().result).toMatchObject({ code: 2, stderr: "own deny\n" });
    await endSleepers(directory);
  });

  it("having given up at its own deadline, is a late fault and its signal fires", async () => {
    let signal: AbortSignal | undefined;
    await listen((_event, _raw, call) => {
      signal = call.signal;
      return forever();
    });
    const call = start(["/bin/sh", directory.shimPath, "PreToolUse", "1", "GATE"], "{}");
    expect(await call.result).toMatchObject({ code: 2 });
    await until("the fault", () => faults.length > 0);
    expect(kinds()).toEqual(["late"]);
    expect(signal?.aborted).toBe(true);
    expect(await claimsOf(directory)).toEqual([]);
  });
});

describe("a request that is not one", () => {
  it.each([
    ["words", "hello there"],
    ["another slot", "T 9 12 PreToolUse"],
    ["a path for a slot", "T ../x 12 PreToolUse"],
    ["another caller's own FIFO", "T x13 12 PreToolUse"],
    ["an event nobody knows", "T 0 12 Nothing"],
    ["no event", "T 0 12"],
    ["an extra word", "T 0 12 PreToolUse 1"],
    ["a pid with a sign", "T 0 -12 PreToolUse"],
    ["an over-long line", `T 0 12 ${"P".repeat(300)}`],
  ])("is a fault and nothing else: %s", async (_name, line) => {
    await listen(async () => ({ code: 0, stdout: "", stderr: "" }));
    const queue = await open(directory.requestFifo, "r+");
    await queue.write(`${line}\n`);
    await until("the fault", () => faults.length > 0);
    expect(kinds()).toEqual(["request_invalid"]);
    expect(await gate().result).toEqual(admitted);
    await queue.close();
  });

  it("cannot free a slot that another process holds", async () => {
    let signal: AbortSignal | undefined;
    const { close } = await listen((_event, _raw, call) => {
      signal = call.signal;
      return forever();
    });
    const call = gate();
    await until("it waits", () => signal !== undefined);
    const queue = await open(directory.requestFifo, "r+");
    await queue.write("D 0 1\n");
    await queue.write("words\n");
    await until("the fault", () => faults.length > 0);
    expect(broker?.pending).toBe(1);
    await close();
    expect(await call.result).toMatchObject({ code: 2 });
    await queue.close();
  });
});

describe("a run directory that was changed", () => {
  it.each([
    ["the shim rewritten", () => writeFile(directory.shimPath, "exit 0\n")],
    ["q made readable to others", () => chmod(directory.requestFifo, 0o666)],
    ["the directory opened to others", () => chmod(directory.path, 0o777)],
  ])("denies gates and is told: %s", async (name, change) => {
    await listen(async () => ({ code: 0, stdout: "", stderr: "" }));
    const copy = join(scratch, "copy");
    const text = await readFile(directory.shimPath, "utf8");
    await writeFile(copy, text.replace(/^run=.*$/m, `run='${directory.path}'`));
    await change();
    const call = start(["/bin/sh", copy, "PreToolUse", "20", "GATE"], "{}");
    expect(await call.result, name).toMatchObject({ code: 2, stderr: expect.stringContaining("changed") });
    expect(kinds()).toEqual(["tampered"]);
  });

  it("while a hook that is no gate is asked is told at once, and not only when it gives up", async () => {
    await listen(async () => {
      await rm(directory.path, { recursive: true, force: true });
      return { code: 0, stdout: "", stderr: "" };
    });
    const call = start(["/bin/sh", directory.shimPath, "Stop", "2", "OTHER"], "{}");
    await until("it is told", () => kinds().includes("tampered"));
    expect(kinds()).toEqual(["reply_failed", "reply_failed", "tampered"]);
    expect(await call.result).toEqual(quiet);
  });

  it("before the broker starts refuses to start", async () => {
    await rm(directory.requestFifo);
    await writeFile(directory.requestFifo, "");
    await expect(listen(forever)).rejects.toThrow(/not the one that was made/);
  });
});

describe.each(SHELLS)("in $name", ({ argv, present }) => {
  it.skipIf(!present)(
    "600 calls by 16 callers all get their own answer, and nothing is left",
    async () => {
      const { counts } = await listen(async (_event, raw) => {
        const { n } = JSON.parse(String(raw)) as { n: number };
        return n % 2 === 0
          ? { code: 0, stdout: `{"n":${n}}`, stderr: "" }
          : { code: 2, stdout: `{"n":${n}}`, stderr: `no ${n}` };
      });
      expect(counts.requests).toBe(0);
      let next = 0;
      const wrong: unknown[] = [];
      const caller = async () => {
        while (next < 600) {
          const n = next++;
          const result = await gate(JSON.stringify({ n, fill: "x".repeat(500) }), argv).result;
          const right = n % 2 === 0 ? { code: ADMITTED_CODE, stderr: "" } : { code: 2, stderr: `no ${n}\n` };
          const expected = { ...right, signal: null, stdout: `{"n":${n}}\n` };
          if (
            JSON.stringify(Object.entries(result).sort()) !== JSON.stringify(Object.entries(expected).sort())
          ) {
            wrong.push({ n, result });
          }
        }
      };
      await Promise.all(Array.from({ length: 16 }, caller));
      expect(wrong).toEqual([]);
      expect(faults).toEqual([]);
      expect(broker?.counts).toEqual({ requests: 600, answered: 600, faults: 0 });
      await until("all slots are free", async () => (await claimsOf(directory)).length === 0);
      expect((await readdir(join(directory.path, "r"))).sort()).toEqual([
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
      ]);
      await until("no process holds a FIFO", async () => (await holdersOf(directory)).length === 0);
      expect((await stat(join(directory.path, "r", "0"))).isFIFO()).toBe(true);
    },
    60_000,
  );
});

it("slots of callers killed after their answer are found again when slots run out", async () => {
  await listen(async () => ({ code: 0, stdout: "", stderr: "" }));
  const queue = await open(directory.requestFifo, "r+");
  for (let slot = 0; slot < 8; slot += 1) {
    await writeFile(join(directory.path, "e", String(slot)), "{}");
    // A reader that never says D.
    const reader = await open(join(directory.path, "r", String(slot)), "r+");
    await queue.write(`T ${slot} ${1000 + slot} PreToolUse\n`);
    await until("answered", () => broker?.counts.answered === slot + 1);
    await reader.close();
  }
  expect(await claimsOf(directory)).toHaveLength(8);
  expect(await gate().result).toEqual(admitted);
  await until("all slots are free", async () => (await claimsOf(directory)).length === 0);
  await queue.close();
});
