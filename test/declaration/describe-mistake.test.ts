// What is told of a field that is not there, or of another type: once, and in the words of whoever writes a declaration.

import { expect, test } from "vitest";
import { validateDeclaration } from "../../src/declaration/validate.ts";

const command = { type: "command", command: ["true"] };
const http = { type: "http", url: "https://guard.example" };

test.each<[object, string, string]>([
  [{ type: "http" }, "url", "url is missing"],
  [{ type: "http", url: undefined }, "url", "url is missing"],
  [{ type: "command" }, "command", "command is missing"],
  [{ type: "function" }, "handler", "handler is missing"],
  [{}, "type", "type is missing"],
  [{ ...command, selftest: [{ expect: "deny" }] }, "selftest[0].input", "selftest[0].input is missing"],
  [{ ...command, selftest: [{ input: {} }] }, "selftest[0].expect", "selftest[0].expect is missing"],
  [{ ...command, command: ["a", undefined] }, "command[1]", "command[1] is missing"],
  [{ ...command, env: { A: undefined } }, "env.A", "env.A is missing"],
  [{ ...http, headers: { "x-a": undefined } }, "headers.x-a", "headers.x-a is missing"],
])("%j: %s", (entry, field, message) => {
  const { issues } = validateDeclaration({ PreToolUse: [{ hooks: [entry] }] });
  expect(issues).toMatchObject([{ path: `declaration: PreToolUse[0].hooks[0].${field}`, message }]);
  expect(issues[0]?.hint === "" && ["url", "command", "handler", "type"].includes(field)).toBe(false);
});

test.each<[object, string]>([
  [{ type: "http", url: 5 }, "expected a string, got 5"],
  [{ type: "http", url: null }, "expected a string, got null"],
  [{ ...http, headers: { "x-a": 5 } }, "expected a string"],
  [{ ...command, timeout: "5" }, 'expected a number, got "5"'],
  [{ ...command, once: "yes" }, 'expected true or false, got "yes"'],
  [{ ...command, command: 5 }, "expected a list, got 5"],
  [{ ...command, env: [] }, "expected an object, got []"],
  [{ ...command, selftest: {} }, "expected a list, got {}"],
])("%j: %s", (entry, message) => {
  const { issues } = validateDeclaration({ PreToolUse: [{ hooks: [entry] }] });
  expect(issues).toMatchObject([{ message }]);
});
