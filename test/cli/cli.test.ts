import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { EXIT_CODES, exitCodeOf } from "../../src/cli/exit-codes.ts";
import { describeEvent, splitWords } from "../../src/cli/run.ts";
import type { AgentEvent } from "../../src/index.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

test.each([
  [["fix", "it"], ["node", "b", "run", "claude", "fix", "it"], "fix it", []],
  [
    ["fix", "--color", "never"],
    ["run", "codex", "fix", "--", "--color", "never"],
    "fix",
    ["--color", "never"],
  ],
  [["--x"], ["run", "codex", "--", "--x"], "", ["--x"]],
  [[], ["run", "codex", "--"], "", []],
])("the words %j are split at --", (words, argv, prompt, extraArgs) => {
  expect(splitWords(words, argv)).toEqual({ prompt, extraArgs });
});

const event = (body: object) => ({ seq: 0, runId: "r", ...body }) as AgentEvent;

test.each([
  [{ type: "message", role: "assistant", text: "a\nb\u001b[2J" }, "message   a\\nb\\u001b[2J"],
  [{ type: "tool_call", name: "Bash", input: { command: "ls" } }, 'tool      Bash {"command":"ls"}'],
  [{ type: "tool_result", denied: false, isError: false, output: "x" }, undefined],
  [{ type: "thinking", text: "x" }, undefined],
  [{ type: "unparsed", text: "a\u001b[2J", bytes: 5 }, "unparsed  a\\u001b[2J"],
  [{ type: "overflow", bytes: 20_000_000, sha256: "00" }, "overflow  a line of 20000000 bytes was skipped"],
  [{ type: "dropped", count: 3 }, "dropped   3 event(s)"],
  [
    {
      type: "hook",
      event: "PreToolUse",
      toolName: "Bash",
      decision: "deny",
      reason: "no",
      matched: [],
      durationMs: 3,
    },
    "hook      PreToolUse Bash -> deny in 3 ms: no",
  ],
])("%j is shown as %s", (body, line) => {
  expect(describeEvent(event(body))).toBe(line);
});

test.each([
  ["success", 0],
  ["failed", 1],
  ["incomplete", 1],
  ["prompt_blocked", 1],
  ["interrupted", 75],
  ["timed_out", 75],
  ["unenforced", 78],
  ["refused", 78],
] as const)("the outcome %s exits %d", (outcome, code) => {
  expect(exitCodeOf(outcome)).toBe(code);
});

test("only success exits 0", () => {
  expect(Object.entries(EXIT_CODES).filter(([, code]) => code === 0)).toEqual([["success", 0]]);
});

test.skipIf(!existsSync(MAIN))("the built command tells its exit codes", () => {
  expect(execFileSync(process.execPath, [MAIN, "--help"], { encoding: "utf8" })).toContain("78  refused");
});
