import { expect, test } from "vitest";
import { createCallbackChannel } from "../../src/broker/callback-channel.ts";
import type { Answering, BrokerFault } from "../../src/broker/decide-call.ts";
import type { JsonObject } from "../../src/json.ts";
import { callbacks } from "../../src/render/claude/callbacks.ts";

const asks = (id: string, event = "PreToolUse", input: unknown = { hook_event_name: event }): JsonObject =>
  ({
    type: "control_request",
    request_id: id,
    request: { subtype: "hook_callback", callback_id: `bridle-${event}`, input },
  }) as JsonObject;
const ADMIT = { code: 0, stdout: "", stderr: "" } as const;
const admit = async () => ADMIT;

function open(answer: Answering["answer"] = admit, more: Partial<Answering> & { isGone?: boolean } = {}) {
  const faults: BrokerFault[] = [];
  const told: [string, number, number][] = [];
  const sent: { subtype: string; request_id: string; response?: unknown; error?: string }[] = [];
  let canaries = 0;
  const { isGone = false, ...options } = more;
  const channel = createCallbackChannel({
    protocol: callbacks,
    events: ["PreToolUse", "Stop"],
    answer,
    deadlineMs: () => 10_000,
    isGate: (event) => event === "PreToolUse",
    onFault: (fault) => faults.push(fault),
    onAnswered: (...args) => told.push(args),
    onCanary: () => {
      canaries += 1;
    },
    send: async (line) => {
      if (isGone) throw new Error("EPIPE");
      sent.push(JSON.parse(line).response);
    },
    ...options,
  });
  /** Every answer that is under way is written. */
  const settled = async () => {
    for (let turns = 0; turns < 20 || channel.pending > 0; turns++)
      await new Promise((resolve) => setImmediate(resolve));
  };
  return { channel, faults, told, sent, settled, canaries: () => canaries };
}

test("each request is answered under its own id, whichever is decided first", async () => {
  const { channel, sent, told, settled } = open(async (_event, envelope) => {
    const { n } = envelope as { n: number };
    for (let turn = 0; turn < 3 - n; turn++) await new Promise((resolve) => setImmediate(resolve));
    return { code: 0, stdout: JSON.stringify({ n }), stderr: "" };
  });
  for (const n of [0, 1, 2]) channel.take(asks(`r${n}`, "PreToolUse", { n }));
  expect(channel.pending).toBe(3);
  await settled();
  expect(sent.map(({ request_id: id }) => id)).toEqual(["r2", "r1", "r0"]);
  expect(sent.map(({ response }) => response)).toEqual([{ n: 2 }, { n: 1 }, { n: 0 }]);
  expect(told.map(([event, id]) => [event, id])).toEqual([
    ["PreToolUse", 3],
    ["PreToolUse", 2],
    ["PreToolUse", 1],
  ]);
});

test("a denial is its JSON; a denial without any is an error reply, which a gate is stopped by", async () => {
  const json = JSON.stringify({ decision: "block", reason: "no" });
  const answers = [
    { code: 2, stdout: json, stderr: "no" },
    { code: 2, stdout: "", stderr: "bridle: broken; denied" },
  ] as const;
  const { channel, sent, settled } = open(async () => answers[sent.length] ?? ADMIT);
  channel.take(asks("a"));
  await settled();
  channel.take(asks("b"));
  await settled();
  expect(sent).toEqual([
    { subtype: "success", request_id: "a", response: { decision: "block", reason: "no" } },
    { subtype: "error", request_id: "b", error: "bridle: broken; denied" },
  ]);
});

test.each([
  ["throws", "answer_failed", async () => Promise.reject(new Error("boom"))],
  ["is late", "deadline", () => new Promise<never>(() => {})],
  ["is no answer", "answer_failed", async () => ({ code: 1 }) as never],
] as const)("a gate is stopped and others are left alone: answer %s", async (_name, kind, answer) => {
  const { channel, sent, faults, settled } = open(answer, { deadlineMs: () => 50 });
  channel.take(asks("a"));
  channel.take(asks("b", "Stop"));
  await settled();
  expect(sent.find(({ request_id: id }) => id === "a")).toMatchObject({
    subtype: "error",
    error: expect.stringMatching(/^bridle: .+; denied$/),
  });
  expect(sent.find(({ request_id: id }) => id === "b")).toMatchObject({ subtype: "success", response: {} });
  expect(faults.map((fault) => fault.kind)).toEqual([kind, kind]);
});

test("an answer that cannot be written as JSON stops the gate and is told", async () => {
  const { channel, sent, faults, told, settled } = open(async () => ({ code: 0, stdout: "{no", stderr: "" }));
  channel.take(asks("a"));
  await settled();
  expect(sent).toMatchObject([{ subtype: "error", error: expect.stringContaining("denied") }]);
  expect(faults).toMatchObject([{ kind: "reply_failed", event: "PreToolUse" }]);
  expect(told).toEqual([["PreToolUse", 1, 2]]);
});

test("a request that was asked twice is answered once, and told, also after its answer", async () => {
  const { channel, sent, faults, settled } = open();
  channel.take(asks("a"));
  channel.take(asks("a"));
  await settled();
  channel.take(asks("a"));
  await settled();
  expect(sent).toHaveLength(1);
  expect(faults.map(({ kind }) => kind)).toEqual(["request_invalid", "request_invalid"]);
});

test.each([
  ["an event that is not of this run", asks("a", "SubagentStop"), /SubagentStop is not registered/],
  ["an unknown callback", asks("a", "Nothing"), /bridle-Nothing/],
  ["a callback without an envelope", asks("a", "PreToolUse", "text"), /without an envelope/],
])("%s is refused and told", async (_name, payload, detail) => {
  let asked = 0;
  const { channel, sent, faults, settled } = open(async () => {
    asked += 1;
    return ADMIT;
  });
  channel.take(payload);
  await settled();
  expect(asked).toBe(0);
  expect(sent).toMatchObject([{ subtype: "error", request_id: "a" }]);
  expect(faults).toMatchObject([{ kind: "request_invalid", detail: expect.stringMatching(detail) }]);
});

test("a call that is cancelled is abandoned, not answered, and told", async () => {
  let signal: AbortSignal | undefined;
  const { channel, sent, faults, settled } = open((_event, _envelope, call) => {
    signal = call.signal;
    return new Promise(() => {});
  });
  channel.take(asks("a"));
  channel.take({ type: "control_cancel_request", request_id: "a" });
  channel.take({ type: "control_cancel_request", request_id: "unknown" });
  await settled();
  expect(signal?.aborted).toBe(true);
  expect(sent).toEqual([]);
  expect(faults).toMatchObject([{ kind: "late", event: "PreToolUse", callId: 1 }]);
});

test("a call that is cancelled behind its answer came too late, and is told once", async () => {
  const { channel, sent, faults, settled } = open();
  channel.take(asks("a"));
  await settled();
  channel.take({ type: "control_cancel_request", request_id: "a" });
  channel.take({ type: "control_cancel_request", request_id: "a" });
  expect(sent).toHaveLength(1);
  expect(faults).toMatchObject([{ kind: "late", event: "PreToolUse", callId: 1 }]);
});

test("an answer that is there before a late timer is too late all the same", async () => {
  const { channel, sent, faults, settled } = open(
    async () => {
      // As after SIGSTOP and SIGCONT: the loop stood still, and no timer could run.
      const until = performance.now() + 60;
      while (performance.now() < until);
      return ADMIT;
    },
    { deadlineMs: () => 30 },
  );
  channel.take(asks("a"));
  await settled();
  expect(sent).toMatchObject([
    { subtype: "error", error: expect.stringContaining("no verdict within 30 ms") },
  ]);
  expect(faults).toMatchObject([{ kind: "deadline", callId: 1 }]);
});

test("an answer that the agent was gone for is late", async () => {
  const { channel, faults, told, settled } = open(admit, { isGone: true });
  channel.take(asks("a"));
  await settled();
  expect(faults).toMatchObject([{ kind: "late", callId: 1 }]);
  expect(told).toEqual([]);
});

test("closing stops every pending gate and lets others go, and so for what is asked afterwards", async () => {
  const { channel, sent, faults, settled } = open(() => new Promise(() => {}));
  channel.take(asks("a"));
  channel.take(asks("b", "Stop"));
  await channel.close();
  channel.take(asks("c"));
  await settled();
  expect(faults).toEqual([]);
  expect(channel.pending).toBe(0);
  expect(sent.map(({ request_id: id, subtype }) => [id, subtype])).toEqual([
    ["a", "error"],
    ["b", "success"],
    ["c", "error"],
  ]);
});

test("the start of a skipped line stops its gate; one that is no callback is left alone", async () => {
  const { channel, sent, faults, settled } = open();
  channel.takeSkipped(JSON.stringify(asks("a", "PreToolUse", { tool_input: "x".repeat(600) })).slice(0, 512));
  channel.takeSkipped('{"type":"assistant","message":{"content":[{"type":"text","text":"xxx');
  await settled();
  expect(sent).toMatchObject([
    { subtype: "error", request_id: "a", error: expect.stringContaining("denied") },
  ]);
  expect(faults).toMatchObject([{ kind: "envelope_unreadable", event: "PreToolUse" }]);
});

test("a canary is noted and answered with nothing", async () => {
  const { channel, sent, canaries, faults, settled } = open();
  const request = { subtype: "hook_callback", callback_id: "bridle-canary", input: {} };
  channel.take({ type: "control_request", request_id: "c", request });
  await settled();
  expect(canaries()).toBe(1);
  expect(sent).toEqual([{ subtype: "success", request_id: "c", response: {} }]);
  expect(faults).toEqual([]);
});

test("what is not about a callback is left alone", async () => {
  const { channel, sent, faults, settled } = open();
  channel.take({ type: "control_response", response: { request_id: "bridle-1", subtype: "success" } });
  channel.take({ type: "control_request", request_id: "a", request: { subtype: "can_use_tool" } });
  channel.take({ type: "control_request" });
  await settled();
  expect(sent).toEqual([]);
  expect(faults).toEqual([]);
});
