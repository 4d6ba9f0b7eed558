import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentEvent, AgentRun } from "../../src/index.ts";
import { CassetteInvalid, type FakeScript, recordRun, replayRun } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { deny, start } from "./support.ts";

let place: Place;
let path: string;
beforeEach(async () => {
  place = await makePlace();
  path = join(place.home, "run.jsonl");
});
afterEach(() => place.remove());

const SCRIPT: FakeScript = {
  steps: [{ text: "one", tools: [{ shell: "touch ran" }] }, { text: "two" }, { text: "three" }],
};

async function eventsOf(run: AgentRun): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

async function startRecording(script = SCRIPT) {
  const { starting } = await start(place, { provider: "claude", script, handlers: { PreToolUse: deny } });
  return recordRun(await starting, path);
}

async function record() {
  const run = await startRecording();
  const events = await eventsOf(run);
  return { run, events, result: await run.result };
}

/** What JSON keeps of a value. */
const asJson = (value: unknown) => JSON.parse(JSON.stringify(value));

describe("a recorded run", () => {
  test("passes everything through and leaves one whole file that only its owner may read", async () => {
    const { run, events, result } = await record();
    expect(result.outcome).toBe("success");
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(await run.recorded).toBe(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(existsSync(`${path}.part`)).toBe(false);
    expect(JSON.parse(readFileSync(path, "utf8").split("\n")[0] ?? "")).toEqual({
      format: "agent-bridle cassette",
      version: 1,
      provider: "claude",
      providerVersion: "2.1.332+fake",
      runId: run.id,
    });
  });

  test("nobody listens to is recorded all the same", async () => {
    const run = await startRecording();
    await run.result;
    expect((await eventsOf(replayRun(path))).at(-1)?.type).toBe("result");
  });

  test("whose consumer leaves is recorded to its end", async () => {
    const run = await startRecording();
    for await (const _event of run) break;
    await run.result;
    expect((await eventsOf(replayRun(path))).at(-1)?.type).toBe("result");
  });

  test("that is stopped is recorded as stopped", async () => {
    const run = await startRecording({ steps: [{ text: "here" }, { sins: ["hang"] }] });
    for await (const event of run) if (event.type === "message") void run.stop("enough");
    expect(await replayRun(path).result).toMatchObject({ outcome: "interrupted", reason: "enough" });
  });

  test("has one consumer", async () => {
    const run = await startRecording();
    await eventsOf(run);
    expect(() => run[Symbol.asyncIterator]()).toThrow(/one consumer/);
  });

  test("is stopped when its file cannot be made", async () => {
    const { starting } = await start(place, { provider: "claude", script: { steps: [{ sins: ["hang"] }] } });
    const run = await starting;
    expect(() => recordRun(run, join(place.home, "nowhere", "run.jsonl"))).toThrow(/ENOENT/);
    expect((await run.result).outcome).toBe("interrupted");
  });

  test("whose file cannot get its name tells so, and has its result", async () => {
    const run = await startRecording();
    const told = run.recorded.catch((error: unknown) => String(error));
    mkdirSync(join(path, "taken"), { recursive: true });
    expect((await run.result).outcome).toBe("success");
    expect(await told).toMatch(/EISDIR|ENOTEMPTY|EEXIST/);
  });
});

describe("a replayed run", () => {
  test.each(["instant", 1000] as const)(
    "at speed %s has the events, the numbers and the result it had",
    async (speed) => {
      const { run, events, result } = await record();
      const replay = replayRun(path, { speed });
      expect([replay.id, replay.provider, replay.providerVersion]).toEqual([
        run.id,
        "claude",
        "2.1.332+fake",
      ]);
      expect(await eventsOf(replay)).toEqual(asJson(events));
      expect(await replay.result).toEqual(asJson(result));
    },
  );

  test("has its result without a consumer, and keeps its events for a late one", async () => {
    const { events } = await record();
    const replay = replayRun(path);
    await replay.result;
    expect(await eventsOf(replay)).toEqual(asJson(events));
  });

  test("takes its time at a low speed, and is ended in the middle of it", async () => {
    await record();
    const replay = replayRun(path, { speed: 1e-6 });
    const isFirst = await Promise.race([
      replay.result.then(() => "the run"),
      new Promise((resolve) => setImmediate(resolve, "the test")),
    ]);
    expect(isFirst).toBe("the test");
    expect((await replay.stop()).outcome).toBe("interrupted");
  });

  test.each([
    ["stop", (run: AgentRun) => run.stop("enough"), "enough"],
    ["stop without a reason", (run: AgentRun) => run.stop(), "stopped"],
    ["interrupt", (run: AgentRun) => run.interrupt(), "interrupt"],
    ["the end of its block", (run: AgentRun) => run[Symbol.asyncDispose](), "disposed"],
  ] as const)(
    "is ended by %s: nothing after it, a result with the next number",
    async (_name, end, reason) => {
      await record();
      const replay = replayRun(path);
      const seen: AgentEvent[] = [];
      for await (const event of replay) {
        seen.push(event);
        if (event.type === "message" && event.text === "two") void end(replay);
      }
      const result = { outcome: "interrupted", reason, finalText: "two" };
      expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index));
      expect(seen.at(-2)).toMatchObject({ type: "message", text: "two" });
      expect(seen.at(-1)).toMatchObject({ type: "result", result });
      expect(await replay.result).toMatchObject(result);
    },
  );

  test("that is over is not changed by stop", async () => {
    await record();
    const replay = replayRun(path);
    await eventsOf(replay);
    expect(await replay.stop("late")).toMatchObject({ outcome: "success" });
  });

  test("has one consumer, and goes on without it", async () => {
    await record();
    const replay = replayRun(path);
    for await (const _event of replay) break;
    expect(() => replay[Symbol.asyncIterator]()).toThrow(/one consumer/);
    expect((await replay.result).outcome).toBe("success");
  });

  test("has no process that a signal could reach", async () => {
    await record();
    expect(() => process.kill(replayRun(path).pid, 0)).toThrow(TypeError);
  });

  test.each([0, -1, Number.NaN, "fast"])("at speed %s is refused", async (speed) => {
    await record();
    expect(() => replayRun(path, { speed: speed as number })).toThrow(RangeError);
  });
});

describe("a cassette", () => {
  const HEAD = {
    format: "agent-bridle cassette",
    version: 1,
    provider: "claude",
    providerVersion: "2",
    runId: "r",
  };
  const event = (seq: number, runId = "r") => ({
    at: seq,
    event: { type: "message", text: "x", seq, runId },
  });
  const END = { at: 9, events: 2, result: { runId: "r", outcome: "success", reason: "completed" } };
  const lines = (...values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
  const WHOLE = lines(HEAD, event(0), event(1), END);

  test("that is whole is replayed", async () => {
    writeFileSync(path, WHOLE);
    expect((await eventsOf(replayRun(path))).map(({ seq }) => seq)).toEqual([0, 1]);
  });

  const damages: [string, string, number, RegExp][] = [
    ["that is empty", "", 1, /is no cassette/],
    ["that is another JSON file", '{"name":"package"}\n', 1, /is no cassette/],
    ["that is no JSON", "#!/bin/sh\n", 1, /is no cassette/],
    ["of a newer format", lines({ ...HEAD, version: 2 }, event(0), END), 1, /newer agent-bridle/],
    ["with a damaged header", lines({ ...HEAD, provider: "other" }, event(0), END), 1, /header is damaged/],
    ["cut behind a line", lines(HEAD, event(0)), 2, /was cut/],
    ["cut inside a line", WHOLE.slice(0, -9), 4, /cut inside this line/],
    ["of a header alone", lines(HEAD), 1, /was cut/],
    ["with a broken line", WHOLE.replace('{"at":1,', '{"at":1'), 3, /no JSON/],
    ["with a line that is no event", lines(HEAD, event(0), [], END), 3, /no event of a run/],
    ["with two lines swapped", lines(HEAD, event(1), event(0), END), 3, /out of order/],
    ["with a line taken out", lines(HEAD, event(0), END), 3, /lines are missing/],
    ["with an event of another run", lines(HEAD, event(0, "s"), END), 2, /another run/],
    [
      "with the result of another run",
      lines(HEAD, { at: 1, events: 0, result: { ...END.result, runId: "s" } }),
      2,
      /another run/,
    ],
  ];
  test.each(damages)("%s is refused by file and line", (_name, text, line, message) => {
    writeFileSync(path, text);
    let thrown: unknown;
    try {
      replayRun(path);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(CassetteInvalid);
    expect(thrown).toMatchObject({ file: path, line, message: expect.stringMatching(message) });
    expect((thrown as Error).message).toContain(`${path}:${line}: `);
  });
});
