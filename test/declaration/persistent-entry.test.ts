import { expect, test } from "vitest";
import { validateDeclaration } from "../../src/declaration/validate.ts";

const command = { type: "command", command: ["node", "guard.mjs"] };
const issuesOf = (entry: unknown, event = "PreToolUse") =>
  validateDeclaration({ [event]: [{ hooks: [entry] }] }).issues;

test.each([true, false])("a command may say persistent: %j, also with once and async", (persistent) => {
  expect(issuesOf({ ...command, persistent })).toEqual([]);
  expect(issuesOf({ ...command, persistent, once: true })).toEqual([]);
  expect(issuesOf({ ...command, persistent, async: true }, "PostToolUse")).toEqual([]);
});

test.each(["yes", 1, null])("anything but a boolean is refused (%j)", (persistent) => {
  expect(issuesOf({ ...command, persistent })).toMatchObject([
    { code: "declaration_invalid", path: "declaration: PreToolUse[0].hooks[0].persistent" },
  ]);
});

test.each([
  { type: "http", url: "https://guard.example" },
  { type: "function", handler: () => undefined },
])("nothing but a command can be persistent: %j", (entry) => {
  expect(issuesOf({ ...entry, persistent: true })).toMatchObject([
    { code: "declaration_invalid", path: "declaration: PreToolUse[0].hooks[0].persistent" },
  ]);
});

test.each(["agent_prompt", "agent_exit"])("on %s, which fires once a run, it is refused", (event) => {
  expect(issuesOf({ ...command, persistent: true }, event)).toMatchObject([
    {
      code: "declaration_invalid",
      path: `declaration: ${event}[0].hooks[0].persistent`,
      message: expect.stringContaining("fires once a run"),
    },
  ]);
  expect(issuesOf({ ...command, persistent: false }, event)).toEqual([]);
});
