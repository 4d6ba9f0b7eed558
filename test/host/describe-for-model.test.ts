// The text of a tool message, for every way in which a call ends.

import { expect, test } from "vitest";
import { describeForModel, type ToolOutcome } from "../../src/host/index.ts";

const base = { tool: "T", suppressed: false };
const ok = { ...base, status: "ok", input: {} } as const;
const failed = { ...base, status: "failed", stage: "run", error: new Error("no such file") } as const;
const denied = { ...base, status: "denied", stage: "PreToolUse", reason: "not here" } as const;

test.each<[string, ToolOutcome, string]>([
  ["a text is itself, without quotes", { ...ok, result: "two\nlines" }, "two\nlines"],
  ["an object is JSON", { ...ok, result: { a: [1] } }, '{"a":[1]}'],
  ["nothing is null", { ...ok, result: undefined }, "null"],
  ["a failure has its error", failed, "T failed: no such file"],
  ["a failure that threw a text has it", { ...failed, error: "gone" }, "T failed: gone"],
  ["a denial has its reason", denied, "T was denied: not here"],
  ["feedback follows a result", { ...ok, result: "r", feedback: "look" }, "r\n\nBlocked by a hook: look"],
  [
    "feedback follows a failure, and context comes last",
    { ...failed, feedback: "look", context: "by the way" },
    "T failed: no such file\n\nBlocked by a hook: look\n\nby the way",
  ],
  ["context follows a denial", { ...denied, context: "by the way" }, "T was denied: not here\n\nby the way"],
])("%s", (_name, outcome, text) => {
  expect(describeForModel(outcome)).toBe(text);
});
