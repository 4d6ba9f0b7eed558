import { expect, test } from "vitest";
import type { EventName, Provider } from "../../src/profile/events.ts";
import { createEventFilter, wantsOf } from "../../src/spawn/wanted-events.ts";

const wants = (provider: Provider, events: EventName[], wanted: Parameters<typeof createEventFilter>[0]) =>
  wantsOf({ provider, events }, createEventFilter(wanted));

test("everything is delivered when nothing was said, and the result in any case", () => {
  expect(createEventFilter(undefined)("raw")).toBe(true);
  expect(["raw", "message", "result"].map((type) => createEventFilter(["message"])(type as never))).toEqual([
    false,
    true,
    true,
  ]);
});

test.each([
  ["claude", ["tool_result"]],
  ["codex", ["tool_call", "tool_result"]],
] as const)("a guarded %s is read for what its tools did, an unguarded one is not", (provider, types) => {
  for (const type of ["tool_call", "tool_result"] as const) {
    const isHeld = (types as readonly string[]).includes(type);
    expect([type, wants(provider, ["PreToolUse"], [])(type)]).toEqual([type, isHeld]);
    expect([type, wants(provider, ["Stop"], [])(type)]).toEqual([type, false]);
  }
});

test("what is the supervision's own is always read", () => {
  for (const type of ["control", "turn_started", "provider_hook"] as const)
    expect(wants("claude", [], [])(type)).toBe(true);
});
