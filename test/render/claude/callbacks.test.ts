import { expect, test } from "vitest";
import type { HookPlan } from "../../../src/compiler/plan.ts";
import { callbacks, renderCallbacks } from "../../../src/render/claude/callbacks.ts";
import { makePlan } from "../support.ts";

const plan = (transports: HookPlan["transports"]): HookPlan => ({ ...makePlan("claude"), transports });

test("each event that is a callback is registered with its own deadline, a gate as one that blocks when it fails", () => {
  expect(renderCallbacks(plan({ PreToolUse: "callback", Stop: "callback" }))).toEqual({
    UserPromptSubmit: [{ hookCallbackIds: ["bridle-canary"], timeout: 20 }],
    PreToolUse: [{ hookCallbackIds: ["bridle-PreToolUse"], timeout: 70, onFailure: "block" }],
    Stop: [{ hookCallbackIds: ["bridle-Stop"], timeout: 70 }],
  });
});

test("what stays with the shim is not registered, and without callbacks nothing is", () => {
  expect(Object.keys(renderCallbacks(plan({ PreToolUse: "callback", Stop: "shim" })) ?? {})).toEqual([
    "UserPromptSubmit",
    "PreToolUse",
  ]);
  expect(renderCallbacks(plan({ PreToolUse: "shim", Stop: "shim" }))).toBeUndefined();
});

test("UserPromptSubmit is never offered as one: its gate would be open when the input ends", () => {
  expect(callbacks.events).not.toContain("UserPromptSubmit");
  expect(callbacks.events).not.toContain("SessionStart");
});

test("the start of a line tells a callback only where it is one", () => {
  const start =
    '{"type":"control_request","request_id":"a-1","request":{"subtype":"hook_callback","callback_id":';
  expect(callbacks.readStart(`${start}"bridle-PreToolUse","input":{"x`)).toMatchObject({
    type: "asked",
    requestId: "a-1",
    event: "PreToolUse",
  });
  expect(callbacks.readStart(`${start}"other","input":{"x`)).toMatchObject({
    type: "unknown",
    requestId: "a-1",
  });
  expect(callbacks.readStart(`{"type":"assistant","text":${JSON.stringify(start)}`)).toBeUndefined();
});
