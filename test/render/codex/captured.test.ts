import { expect, test } from "vitest";
import { parseCaptured } from "../captured.ts";

const run = (name: string) => parseCaptured("codex", name);

test("a run with a tool call, in order", () => {
  expect(run("ok")).toEqual([
    { type: "session", providerSessionId: "01a22b58-acfa-76b3-8c52-57775a458c40" },
    { type: "turn_started" },
    {
      type: "tool_call",
      id: "item_0",
      name: "command_execution",
      input: { command: "/bin/bash -lc 'touch ran.txt'" },
      started: true,
    },
    {
      type: "tool_result",
      id: "item_0",
      name: "command_execution",
      denied: false,
      isError: false,
      output: "",
    },
    { type: "message", role: "assistant", text: "done" },
    { type: "usage", inputTokens: 20, outputTokens: 20, cachedInputTokens: 0 },
    { type: "result", status: "ok", reason: "completed", turns: 1, text: "done" },
  ]);
});

test("a denied call leaves no trace (X-14)", () => {
  expect(run("deny").map(({ type }) => type)).toEqual([
    "session",
    "turn_started",
    "message",
    "usage",
    "result",
  ]);
});

test("a failing command is an error of the tool, not of the run", () => {
  expect(run("failing").find(({ type }) => type === "tool_result")).toMatchObject({ isError: true });
  expect(run("failing").at(-1)).toMatchObject({ status: "ok" });
});

test("a patch has started before it has a result", () => {
  expect(run("patch").filter(({ type }) => type.startsWith("tool_"))).toMatchObject([
    { type: "tool_call", name: "file_change", started: true },
    { type: "tool_result", name: "file_change", isError: false },
  ]);
});

test("a blocked prompt and a failed turn are no success", () => {
  expect(run("blocked-prompt").at(-1)).toMatchObject({ type: "result", status: "prompt_blocked", turns: 0 });
  expect(run("failed-turn").at(-1)).toMatchObject({ type: "result", status: "error" });
});
