// Terms of a hook in process: their limits, their defaults, and that each of them reaches the chain.

import { afterEach, expect, test, vi } from "vitest";
import { checkHostHook } from "../../src/host/host-hook.ts";
import { createHookHost, type HostHook } from "../../src/host/index.ts";
import { deny } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

afterEach(() => {
  vi.useRealTimers();
});

const nothing = () => undefined;

test("without terms a hook has a minute, grants nothing, runs each time, and is waited for", () => {
  expect(checkHostHook({ event: "PreToolUse", handler: nothing }, 3)).toEqual({
    type: "function",
    id: "inProcess[3]",
    name: "nothing",
    event: "PreToolUse",
    matcher: undefined,
    handler: nothing,
    timeoutMs: 60_000,
    onFailure: "closed",
    grants: false,
  });
});

test.each<[Partial<HostHook>, object]>([
  [{ event: "Stop" }, { onFailure: "open" }],
  [
    { event: "Stop", onFailure: "closed" },
    { onFailure: "closed", closesFeedback: true },
  ],
  [
    { event: "PreToolUse", onFailure: "error" },
    { onFailure: "closed", throws: true },
  ],
  [
    { event: "PreToolUse", async: true },
    { onFailure: "open", async: true },
  ],
  [
    { event: "PreToolUse", grants: true, once: true },
    { grants: true, once: true },
  ],
  [{ event: "PreToolUse", where: { tool_name: "T" } }, { where: { tool_name: "T" } }],
  [{ event: "PreToolUse", timeoutMs: 0.5 }, { timeoutMs: 1 }],
  [{ event: "PreToolUse", timeoutMs: 3_600_000 }, { timeoutMs: 3_600_000 }],
])("%o is brought to %o", (terms, brought) => {
  expect(checkHostHook({ handler: nothing, ...terms }, 0)).toMatchObject(brought);
});

test("closed on a gate is no block of feedback", () => {
  expect(checkHostHook(on("PreToolUse", nothing, { onFailure: "closed" }), 0)).not.toHaveProperty(
    "closesFeedback",
  );
});

test.each<[string, object, string]>([
  ["an id of blanks", { id: " " }, "inProcess[0].id: expected a name"],
  ["an id that is a number", { id: 7 }, "inProcess[0].id: expected a name"],
  ["a time over an hour", { timeoutMs: 3_600_001 }, "inProcess[0].timeoutMs"],
  ["a time without end", { timeoutMs: Number.POSITIVE_INFINITY }, "inProcess[0].timeoutMs"],
  ["a time that is text", { timeoutMs: "60" }, "inProcess[0].timeoutMs"],
  ["grants that are text", { grants: "false" }, "inProcess[0].grants: expected true or false"],
  ["once that is a number", { once: 1 }, "inProcess[0].once: expected true or false"],
  ["async that is text", { async: "no" }, "inProcess[0].async: expected true or false"],
  ["a matcher that is a list", { matcher: ["T"] }, "inProcess[0].matcher: expected a string"],
  ["a where that cannot be evaluated", { where: { tool_name: { $oops: 1 } } }, "inProcess[0].where"],
  ["a failure in the background that would throw", { async: true, onFailure: "error" }, "decides nothing"],
])("a hook with %s is refused when it is loaded", (_name, terms, message) => {
  const hook = { event: "PreToolUse", handler: nothing, ...terms } as HostHook;
  expect(() => createHookHost({ inProcess: [hook] })).toThrow(message);
});

test("where: a hook is asked only about calls that hold what it wants", async () => {
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => deny(envelope, "no"), { where: { session_id: "s1" } })],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {}, { sessionId: "s1" })).toMatchObject({ status: "denied" });
  expect(await host.tools.invoke("Echo", {}, { sessionId: "s2" })).toMatchObject({ status: "ok" });
  expect(ran).toHaveLength(1);
});

test("a hook that never answers has a minute, and not less", async () => {
  const asked = vi.fn(() => new Promise<undefined>(() => {}));
  const { host } = play({ inProcess: [on("PreToolUse", asked)] });
  echo(host);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let isOver = false;
  const outcome = host.tools.invoke("Echo", {}).finally(() => {
    isOver = true;
  });
  while (asked.mock.calls.length === 0) await vi.advanceTimersByTimeAsync(0);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await outcome).toMatchObject({ status: "denied" });
});
