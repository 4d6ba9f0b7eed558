// What a failing hook means, by mode, event and kind of failure.

import { expect, test } from "vitest";
import { HookExecutionError, type HostHook } from "../../src/host/index.ts";
import type { EventName } from "../../src/profile/events.ts";
import { echo, on, play } from "./support.ts";

const FAILURES: readonly [string, () => never | Promise<never> | never[]][] = [
  [
    "throws",
    () => {
      throw new Error("down");
    },
  ],
  ["rejects", () => Promise.reject(new Error("down"))],
  ["returns a list", () => []],
  ["answers with another system's word", (() => ({ verdict: "deny" })) as never],
  ["never answers", () => new Promise<never>(() => {})],
];

const failing = (event: EventName, handler: unknown, more: Partial<HostHook> = {}) =>
  on(event, handler as () => undefined, { timeoutMs: 20, ...more });

for (const [how, handler] of FAILURES) {
  test(`closed, a gate: a hook that ${how} denies, by default too`, async () => {
    for (const more of [{}, { onFailure: "closed" }] as const) {
      const { host, receipts } = play({ inProcess: [failing("PreToolUse", handler, more)] });
      const ran = echo(host);
      expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "denied", stage: "PreToolUse" });
      expect(ran).toEqual([]);
      expect(receipts).toMatchObject([{ failure_mode: "closed", decision: "deny" }]);
      expect(receipts[0]?.error).toBeTruthy();
    }
  });

  test(`open, behind the call: a hook that ${how} is written down, and the chain goes on, by default too`, async () => {
    for (const more of [{}, { onFailure: "open" }] as const) {
      let later = 0;
      const { host, receipts } = play({
        inProcess: [failing("PostToolUse", handler, more), on("PostToolUse", () => void later++)],
      });
      echo(host);
      const outcome = await host.tools.invoke("Echo", {});
      expect(outcome).toMatchObject({ status: "ok" });
      expect(outcome).not.toHaveProperty("feedback");
      expect(later).toBe(1);
      expect(receipts.map(({ failure_mode, status }) => [failure_mode, status !== "ok"])).toEqual([
        ["open", true],
        ["open", false],
      ]);
    }
  });

  test(`closed, behind the call: a hook that ${how} blocks`, async () => {
    const { host } = play({ inProcess: [failing("PostToolUse", handler, { onFailure: "closed" })] });
    echo(host);
    expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok", feedback: expect.any(String) });
  });

  test(`error: a hook that ${how} throws HookExecutionError to whoever fired the event`, async () => {
    const before = play({ inProcess: [failing("PreToolUse", handler, { onFailure: "error" })] }).host;
    const ran = echo(before);
    await expect(before.tools.invoke("Echo", {})).rejects.toBeInstanceOf(HookExecutionError);
    expect(ran).toEqual([]);
    const stop = play({ inProcess: [failing("Stop", handler, { onFailure: "error" })] }).host;
    await expect(stop.runStop()).rejects.toThrow("hook inProcess[0] failed on Stop");
    const start = play({ inProcess: [failing("SessionStart", handler, { onFailure: "error" })] }).host;
    await expect(start.runSessionStart({ source: "startup" })).rejects.toBeInstanceOf(HookExecutionError);
  });
}

test("open, a gate: a hook that throws admits, and the receipt says so", async () => {
  const [, handler] = FAILURES[0] as (typeof FAILURES)[0];
  const { host, receipts } = play({ inProcess: [failing("PreToolUse", handler, { onFailure: "open" })] });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok" });
  expect(ran).toHaveLength(1);
  expect(receipts).toMatchObject([
    {
      status: "failed",
      notes: ["hook_failed", "admitted_on_failure"],
      error: expect.stringContaining("down"),
    },
  ]);
});

test("open, a gate: a hook that is late denies all the same (Dv1-4)", async () => {
  const { host, receipts } = play({
    inProcess: [failing("PreToolUse", () => new Promise(() => {}), { onFailure: "open" })],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "denied" });
  expect(ran).toEqual([]);
  expect(receipts).toMatchObject([{ status: "timed_out" }]);
});

test.each<EventName>(["UserPromptSubmit", "PreModelCall"])(
  "closed by default: a failing hook of %s reaches no model",
  async (event) => {
    let calls = 0;
    const { host } = play({ inProcess: [failing(event, () => Promise.reject(new Error("down")))] });
    const model = host.wrapModel(() => ++calls);
    expect(await model({}, { origin: host.ingress({ prompt: "hi" }) })).toMatchObject({
      status: "denied",
      stage: event,
    });
    expect(calls).toBe(0);
  },
);

test("open by default: a failing hook of PostModelCall, ErrorOccurred and Notification changes nothing", async () => {
  const fail = () => Promise.reject(new Error("down"));
  const { host, receipts } = play({
    inProcess: [
      failing("PostModelCall", fail),
      failing("ErrorOccurred", fail),
      failing("Notification", fail),
    ],
  });
  const origin = host.ingress({ prompt: "hi" });
  expect(await host.wrapModel(() => 1)({}, { origin })).toEqual({ status: "ok", response: 1, attempts: 1 });
  expect(await host.wrapModel(() => Promise.reject(new Error("x")))({}, { origin })).toMatchObject({
    status: "failed",
    attempts: 1,
  });
  expect(await host.runNotification({ notification_type: "idle" })).toEqual({
    decision: "none",
    suppressed: false,
  });
  expect(receipts.map(({ event, status }) => [event, status])).toEqual([
    ["PostModelCall", "failed"],
    ["ErrorOccurred", "failed"],
    ["Notification", "failed"],
  ]);
});

test("an error behind the model's answer is the hook's, and no reason to ask the model again", async () => {
  let calls = 0;
  const { host } = play({
    inProcess: [
      failing("PostModelCall", () => Promise.reject(new Error("down")), { onFailure: "error" }),
      on("ErrorOccurred", () => ({ hookSpecificOutput: { hookEventName: "ErrorOccurred", retry: true } })),
    ],
  });
  const model = host.wrapModel(() => ++calls);
  await expect(model({}, { origin: host.ingress({ prompt: "hi" }) })).rejects.toBeInstanceOf(
    HookExecutionError,
  );
  expect(calls).toBe(1);
});
