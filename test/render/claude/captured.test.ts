import { expect, test } from "vitest";
import { parseCaptured } from "../captured.ts";

const run = (name: string) => parseCaptured("claude", name);
const last = (name: string) => run(name).at(-1);
const of = (name: string, type: string) => run(name).filter((event) => event.type === type);

test.each([
  ["deny", { status: "ok", reason: "completed", text: "done", turns: 2 }],
  ["not-allowed", { status: "ok", reason: "completed" }],
  ["failing-command", { status: "ok", reason: "completed" }],
  ["blocked-prompt", { status: "prompt_blocked", reason: "prompt_blocked" }],
  ["api-error", { status: "error", reason: "api_error" }],
  ["max-turns", { status: "error", reason: "max_turns" }],
])("%s ends as its last line means it, not as it says", (name, result) => {
  expect(last(name)).toMatchObject({ type: "result", ...result });
});

test.each([
  ["deny", { denied: true, ran: false, isError: true }],
  ["not-allowed", { denied: true, ran: false, isError: true }],
  ["failing-command", { denied: false, ran: true, isError: true }],
  ["no-verdict", { denied: false, ran: true, isError: false }],
])("%s tells whether the tool ran", (name, result) => {
  expect(of(name, "tool_result")).toMatchObject([{ id: "call_b0f360cdc9_0_0", ...result }]);
});

test("a blocked prompt shows no result text, which would repeat the prompt", () => {
  expect(last("blocked-prompt")).not.toHaveProperty("text");
});

test("a hook that let a call run without a verdict is told", () => {
  expect(of("no-verdict", "provider_hook")).toContainEqual({
    type: "provider_hook",
    event: "PreToolUse",
    noVerdict: true,
    toolUseId: "call_b0f360cdc9_0_0",
    evidence: "hook_no_verdict",
  });
});

test("a hook's exit code is told, because its outcome is the same for a deny and a crash", () => {
  expect(of("deny", "provider_hook")).toContainEqual({
    type: "provider_hook",
    event: "PreToolUse",
    exitCode: 2,
    outcome: "error",
  });
});

test("the session, the call, the text and the usage are told in order", () => {
  const types = run("failing-command").map(({ type }) => type);
  expect(types).toEqual(["session", "tool_call", "tool_result", "message", "usage", "result"]);
  expect(of("failing-command", "usage")).toEqual([
    { type: "usage", inputTokens: 20, outputTokens: 20, cachedInputTokens: 0, costUsd: 0.00048 },
  ]);
});
