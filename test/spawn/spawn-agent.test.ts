import { readFileSync } from "node:fs";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type AgentEvent, RenderedHooks, type SpawnOptions, spawnAgent } from "../../src/index.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import * as fakes from "../testkit/support.ts";
import { leftovers, makePlace, type Place } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

interface Given extends Partial<SpawnOptions> {
  readonly handlers?: Record<string, fakes.Handler>;
}

const asPlay = (script: FakeScript, { handlers = {}, ...options }: Given) =>
  ({ provider: "claude", script, handlers, options }) as const;
const run = (script: FakeScript, given: Given = {}) => fakes.play(place, asPlay(script, given));
const start = (script: FakeScript, given: Given = {}) => fakes.start(place, asPlay(script, given));
const refusal = (script: FakeScript, given: Given = {}) => fakes.refusalOf(place, asPlay(script, given));

/** Events of the hooks that a run shows. */
const shown = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === "hook" ? [event.event] : []));

const ECHO: FakeScript = { steps: [{ text: "{{prompt}}" }] };
const TOUCH: FakeScript = { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "done" }] };

describe("a run", () => {
  test("with a final message, a clean exit and attested hooks is a success", async () => {
    const { result, seen } = await run(ECHO);
    expect(result).toMatchObject({
      outcome: "success",
      finalText: "hello",
      turns: 1,
      usage: { inputTokens: 10, outputTokens: 20 },
      costUsd: 0.01,
      exitCode: 0,
    });
    expect(seen.exits).toEqual(["success"]);
  });

  test("has events in order with a gap-free number, the result last", async () => {
    const { events } = await run(ECHO);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)?.type).toBe("result");
  });

  test("leaves no run directory behind", async () => {
    await run(ECHO);
    expect(await leftovers(place)).toEqual([]);
  });

  test("nobody listens to ends all the same", async () => {
    const { starting } = await start(ECHO);
    expect((await (await starting).result).outcome).toBe("success");
  });

  test("gets a prompt of 10 MB", async () => {
    const { events } = await run(ECHO, { prompt: "p".repeat(10_000_000) });
    expect(events.find(({ type }) => type === "message")).toMatchObject({ text: "p".repeat(10_000_000) });
  });

  test("has its tool call denied by a handler", async () => {
    const { events } = await run(TOUCH, { handlers: { PreToolUse: fakes.deny } });
    expect(fakes.isThere(place, "ran")).toBe(false);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool_result",
        denied: true,
        output: expect.stringContaining("not today"),
      }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: "hook", decision: "deny", reason: "not today" }),
    );
  });

  test("has its tool call admitted by a handler", async () => {
    await run(TOUCH);
    expect(fakes.isThere(place, "ran")).toBe(true);
  });

  test("writes no value of prompt or input into its receipts", async () => {
    const script = { steps: [{ tools: [{ shell: "echo very private input" }] }] };
    const { seen } = await run(script, { prompt: "very private words" });
    expect(seen.receipts).toContainEqual(expect.objectContaining({ kind: "fired", tool_name: "Bash" }));
    expect(JSON.stringify(seen.receipts)).not.toContain("very private");
  });

  test("denied by agent_prompt starts nothing and fires no agent_exit", async () => {
    const { issues, seen } = await refusal(ECHO, {
      handlers: { agent_prompt: () => ({ decision: "block", reason: "no" }) },
    });
    expect(issues).toMatchObject([{ code: "prompt_denied", message: "no" }]);
    expect(seen).toEqual({ receipts: [], exits: [] });
  });

  test("gets the context of agent_prompt behind its prompt", async () => {
    const { result } = await run(ECHO, {
      handlers: { agent_prompt: () => ({ hookSpecificOutput: { additionalContext: "ctx" } }) },
    });
    expect(result.finalText).toBe("hello\n\nctx");
  });
});

describe("output", () => {
  test("only events that are wanted are told, and the result", async () => {
    const script: FakeScript = {
      steps: [
        { text: "first", tools: [{ shell: "touch ran" }] },
        { text: "done", sins: ["garbage-lines"] },
      ],
    };
    const { result, events } = await run(script, { events: ["tool_call"] });
    expect(events.map(({ type, seq }) => [seq, type])).toEqual([
      [0, "tool_call"],
      [1, "result"],
    ]);
    expect(result).toMatchObject({ outcome: "success", finalText: "done" });
  });

  test("a tool that ran past its guard is seen, although nobody wants to be told of tools", async () => {
    const script: FakeScript = {
      steps: [{ text: "first" }, { tools: [{ shell: "touch ran", sins: ["skip-hook"] }] }, { text: "done" }],
    };
    const { result } = await run(script, { events: ["result"] });
    expect(result).toMatchObject({ outcome: "unenforced", reason: expect.stringMatching(/^unasked: /) });
  });

  test.each([[["messages"]], ["message"], [[1]]])("events %j are refused", async (events) => {
    const { issues } = await refusal(ECHO, { events } as never);
    expect(issues).toMatchObject([{ code: "option_invalid", path: expect.stringMatching(/^events/) }]);
  });

  test("a line above maxLineBytes is told, and a final message that was skipped is none", async () => {
    const { result, events } = await run(
      { steps: [{ text: "x".repeat(100_000) }], sins: ["many-results"] },
      { maxLineBytes: 65_536 },
    );
    expect(events.filter(({ type }) => type === "overflow")).toMatchObject([
      { bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { bytes: expect.any(Number) },
    ]);
    expect(result).toMatchObject({
      outcome: "incomplete",
      reason: "exited 0 without a final message",
      finalText: undefined,
    });
  });

  test("a consumer slower than the agent holds it back and loses nothing", async () => {
    const { starting } = await start({ steps: [{ text: "done", sins: [{ "flood-stdout": 20 }] }] });
    const run = await starting;
    const counts: Record<string, number> = {};
    let next = 0;
    for await (const { type, seq } of run) {
      expect(seq).toBe(next++);
      counts[type] = (counts[type] ?? 0) + 1;
      await setImmediate();
    }
    expect(counts).toMatchObject({ raw: 20_000, result: 1 });
    expect(counts).not.toHaveProperty("dropped");
    expect((await run.result).outcome).toBe("success");
  });

  test("a secret in a line that is no JSON is not shown", async () => {
    const { events } = await run(
      { steps: [{ text: "done", sins: ["garbage-lines"] }] },
      { secrets: ["this is no JSON"] },
    );
    expect(events.filter(({ type }) => type === "unparsed")).toMatchObject([
      { text: expect.not.stringContaining("this is no JSON"), bytes: 15 },
      { text: '{"half":' },
      { text: "[1,2]" },
    ]);
  });

  test.each([65_535, 511 * 1024 * 1024 + 1, 100_000.5, Number.NaN])(
    "maxLineBytes %d is refused",
    async (maxLineBytes) => {
      const { issues } = await refusal(ECHO, { maxLineBytes });
      expect(issues).toMatchObject([{ code: "option_invalid", path: "maxLineBytes" }]);
    },
  );
});

test.skipIf(process.platform !== "linux")(
  "a consumer that stops reading does not keep a stopped run from its end, nor its output from being read",
  async () => {
    const { starting } = await start(
      { steps: [{ text: "done", sins: [{ "flood-stdout": 20 }] }] },
      { deadlines: { interruptGraceMs: 100, stopMs: 2_000 } },
    );
    const agent = await starting;
    const events = agent[Symbol.asyncIterator]();
    for (let event = await events.next(); event.value?.type !== "raw"; ) event = await events.next();
    const written = () => readFileSync(`/proc/${agent.pid}/io`, "utf8").match(/wchar: (\d+)/)?.[1];
    for (let last = "", now = written(); now !== last; now = written()) {
      last = now ?? "";
      await delay(300);
    }
    expect((await agent.stop("enough")).outcome).toBe("interrupted");
    const codes: string[] = [];
    for (let { value } = await events.next(); value !== undefined; { value } = await events.next())
      if (value.type === "warning") codes.push(value.code);
    expect(codes).not.toContain("pipe_held");
  },
);

describe("deadlines", () => {
  test("the chain of agent_exit is cut off after exitHookMs, told in the receipts, and the result comes", async () => {
    const { result, seen } = await run(ECHO, {
      handlers: { agent_exit: () => new Promise(() => {}) },
      deadlines: { exitHookMs: 200 },
    });
    expect(result.outcome).toBe("success");
    expect(seen.receipts).toContainEqual(
      expect.objectContaining({ fault: "agent_exit_failed", detail: expect.stringContaining("exitHookMs") }),
    );
  });

  test("SIGTERM after interruptGraceMs ends an agent that ignores the clean stop", async () => {
    const { starting } = await start(
      { ...ECHO, sins: ["never-exit"] },
      { deadlines: { interruptGraceMs: 100, stopMs: 60_000 } },
    );
    const agent = await starting;
    for await (const { type } of agent) if (type === "usage" || type === "message") break;
    const { outcome, reason, exitCode, signal } = await agent.stop("enough");
    expect({ outcome, reason }).toEqual({ outcome: "interrupted", reason: "enough" });
    expect(signal === "SIGTERM" || exitCode === 143).toBe(true);
  });

  test.each([
    [{ interruptGraceMs: 2_000, stopMs: 1_000 }, "deadlines.interruptGraceMs"],
    [{ exitHookMs: "off" }, "deadlines.exitHookMs"],
  ])("%j refuses", async (deadlines, path) => {
    const { issues } = await refusal(ECHO, { deadlines: deadlines as SpawnOptions["deadlines"] });
    expect(issues).toMatchObject([{ code: "deadline_invalid", path }]);
  });
});

describe("the canary", () => {
  const QUICK = { deadlines: { attestMs: 1500 } };
  const SESSION_START = {
    event: "SessionStart",
    rendered: true,
    transport: "shim",
    preflighted: true,
    late: 0,
    never: 0,
  };

  test("that never comes refuses the run, and nothing is left", async () => {
    const { issues, seen } = await refusal({ ...TOUCH, sins: ["no-session-start"] }, QUICK);
    expect(issues).toMatchObject([{ code: "attestation_failed", path: "canary" }]);
    expect(seen.exits).toEqual(["refused"]);
    expect(seen.receipts).toContainEqual(expect.objectContaining({ kind: "attested", canary: "missing" }));
    expect(fakes.isThere(place, "ran")).toBe(false);
    expect(await leftovers(place)).toEqual([]);
  });

  test("is attested, but neither counted nor shown", async () => {
    const { result, events, seen } = await run(ECHO);
    expect(result.attestation).toMatchObject({
      canary: "came",
      events: [
        { ...SESSION_START, fired: 1, answered: 1 },
        { event: "PreToolUse", fired: 0 },
      ],
    });
    expect(result.hooks.fired).toBe(2);
    expect(shown(events)).toEqual(["agent_prompt", "agent_exit"]);
    expect(seen.receipts).toContainEqual(
      expect.objectContaining({ kind: "attested", ...result.attestation }),
    );
  });

  test("is a hook like any other where the user declared one", async () => {
    const { result, events } = await run(ECHO, { handlers: { SessionStart: () => undefined } });
    expect(result.attestation.canary).toBe("came");
    expect(result.attestation.events).toContainEqual({ ...SESSION_START, fired: 1, answered: 1 });
    expect(result.hooks.fired).toBe(3);
    expect(shown(events)).toEqual(["agent_prompt", "SessionStart", "agent_exit"]);
  });

  test("that comes once more when the session is resumed says so", async () => {
    const sources: unknown[] = [];
    const handlers: Record<string, fakes.Handler> = {
      SessionStart: ({ source }) => void sources.push(source),
    };
    const { result } = await run(ECHO, { handlers, keepSession: true });
    await run(ECHO, { handlers, resume: result.providerSessionId ?? "" });
    expect(sources).toEqual(["startup", "resume"]);
  });
});

describe("the end of a hook as claude saw it", () => {
  test.each<[number, fakes.Handler]>([
    [127, fakes.admit],
    [2, fakes.admit],
    [0, fakes.deny],
  ])("with %i, which Bridle did not give, ends the run and is named", async (code, handler) => {
    const script: FakeScript = {
      steps: [{ tools: [{ shell: "touch ran", sins: [{ "hook-exit-code": code }] }] }, { text: "done" }],
    };
    const { result } = await run(script, { handlers: { PreToolUse: handler } });
    expect(result).toMatchObject({
      outcome: "unenforced",
      reason: expect.stringContaining(`the agent saw exit ${code} of a PreToolUse hook`),
    });
  });
});

describe("a claude of another version than the one compiled for", () => {
  test("is refused before it has the prompt", async () => {
    const { issues, seen } = await refusal({ ...TOUCH, sins: [{ "report-version": "9.9.9" }] });
    expect(issues).toMatchObject([
      { code: "provider_changed", message: expect.stringMatching(/9\.9\.9\+fake.* 2\.1\.332\+fake/) },
    ]);
    expect(seen.exits).toEqual(["refused"]);
    expect(fakes.isThere(place, "ran")).toBe(false);
  });
});

describe("an abort", () => {
  test.each([0, 1, 5, 50])("after %d ms ends the run or its start, and leaves nothing", async (ms) => {
    const { starting, seen } = await start(
      { ...ECHO, sins: ["never-exit"] },
      {
        signal: AbortSignal.timeout(ms),
        deadlines: { stopMs: 200 },
      },
    );
    const outcome = await starting.then(
      async (agent) => (await agent.result).outcome,
      () => "rejected",
    );
    expect(["interrupted", "rejected"]).toContain(outcome);
    expect(seen.exits.length).toBeLessThanOrEqual(1);
    expect(await leftovers(place)).toEqual([]);
  });
});

describe("a token that was not minted is refused as token_forged", () => {
  const forgeries: [string, (token: RenderedHooks) => unknown][] = [
    ["a spread copy", (token) => ({ ...token })],
    ["Object.create of it", (token) => Object.create(token)],
    ["Object.create of its class", () => Object.create(RenderedHooks.prototype)],
    ["a JSON round trip", (token) => JSON.parse(JSON.stringify(token))],
    ["a Proxy", (token) => new Proxy(token, {})],
    ["a structured clone", (token) => structuredClone({ ...token })],
    [
      "a plain object given its class",
      (token) => Object.setPrototypeOf({ ...token }, RenderedHooks.prototype),
    ],
    ["nothing", () => undefined],
    ["a string", () => "token"],
  ];
  test.each(forgeries)("%s", async (_name, forge) => {
    const hooks = forge(await fakes.compileFake(place, asPlay(ECHO, {}))) as RenderedHooks;
    const starting = spawnAgent({ hooks, prompt: "p", cwd: place.cwd, baseEnv: place.env });
    await expect(starting).rejects.toMatchObject({ issues: [{ code: "token_forged" }] });
  });
});
