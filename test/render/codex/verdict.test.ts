// What codex is answered: a rewrite it cannot read would let the original call run, so it is denied instead.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { encodeVerdict } from "../../../src/render/codex/verdict.ts";

const rewrite = (updatedInput: JsonObject, context?: string) =>
  encodeVerdict("PreToolUse", {
    decision: "rewrite",
    updatedInput,
    grants: false,
    ...(context === undefined ? {} : { context }),
  });

function nested(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 0; level < levels; level++) value = { inner: value };
  return value;
}

test.each<[string, JsonObject]>([
  ["a command that is no string", { command: ["ls"] }],
  ["no command", { cmd: "ls" }],
  ["half a character in the command", { command: "ls \ud800" }],
  ["half a character elsewhere", { command: "ls", more: [{ text: "\udc00" }] }],
  ["half a character in a key", { command: "ls", more: { "\ud800": 1 } }],
  ["too many levels", { command: "ls", more: nested(200) }],
])("a rewrite with %s is denied", (_name, updatedInput) => {
  const { code, stdout, stderr } = rewrite(updatedInput);
  expect(code).toBe(2);
  expect(stderr).toContain("codex would run the original");
  expect(JSON.parse(stdout).hookSpecificOutput.permissionDecision).toBe("deny");
});

test("a rewrite that can be read is allowed whole", () => {
  const updatedInput = { command: "ls é \u{1f600}\n", more: nested(50), key: 1 };
  const { code, stdout, stderr } = rewrite(updatedInput);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput },
  });
});

test("half a character in the context does not void the rewrite beside it", () => {
  expect(rewrite({ command: "ls" }, "see \ud800").stdout).toBe(
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"see \u{FFFD}","permissionDecision":"allow","updatedInput":{"command":"ls"}}}',
  );
});

test("whatever a guard rewrites to, the answer is a deny or JSON without half characters", () => {
  const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)) });
  fc.assert(
    fc.property(anyText, anyText, anyText, (command, key, value) => {
      const { code, stdout } = rewrite({ command, [`x${key}`]: value }, value);
      if (code === 2) return;
      expect(stdout).not.toMatch(/\p{Surrogate}/u);
      expect(stdout).not.toMatch(/\\u[dD][89a-fA-F]/);
    }),
  );
});

// Bytes as they go to codex, one row an event.
test.each([
  [
    "PreToolUse",
    2,
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}',
    "no",
  ],
  ["UserPromptSubmit", 2, '{"decision":"block","reason":"no"}', "no"],
  ["PostToolUse", 0, '{"decision":"block","reason":"no"}', ""],
  ["Stop", 0, '{"decision":"block","reason":"no"}', ""],
  ["SubagentStop", 0, '{"decision":"block","reason":"no"}', ""],
] as const)("a deny of %s", (event, code, stdout, stderr) => {
  expect(encodeVerdict(event, { decision: "deny", reason: "no" })).toEqual({ code, stdout, stderr });
});
