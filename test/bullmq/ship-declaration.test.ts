// A declaration on its way through Redis: the same one has one digest, and nothing of it is lost.

import { expect, test } from "vitest";
import { checkAllowed, packDeclaration } from "../../src/bullmq/ship-declaration.ts";
import type { HookDeclaration } from "../../src/index.ts";

const command = ["node", "guard.mjs"];

test("the order of keys changes nothing, anything else does", () => {
  const one: HookDeclaration = {
    PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command, timeout: 5 }] }],
    Stop: [{ hooks: [{ type: "command", command }] }],
  };
  const same: HookDeclaration = {
    Stop: [{ hooks: [{ command, type: "command" }] }],
    PreToolUse: [{ hooks: [{ timeout: 5, command, type: "command" }], matcher: "Bash" }],
  };
  const other: HookDeclaration = {
    ...one,
    PreToolUse: [{ matcher: "Bas", hooks: [{ type: "command", command, timeout: 5 }] }],
  };
  expect(packDeclaration(one).digest).toBe(packDeclaration(same).digest);
  expect(packDeclaration(one).digest).not.toBe(packDeclaration(other).digest);
  expect(JSON.parse(packDeclaration(one).text)).toEqual(one);
});

test("the order of hooks counts: it is the order in which they run", () => {
  const hooks = [
    { type: "command" as const, command: ["a"] },
    { type: "command" as const, command: ["b"] },
  ];
  const forth = packDeclaration({ Stop: [{ hooks }] }).digest;
  expect(packDeclaration({ Stop: [{ hooks: hooks.toReversed() }] }).digest).not.toBe(forth);
});

test("a declaration that is none is not shipped", () => {
  expect(() =>
    packDeclaration({ PreToolUse: [{ hooks: [{ type: "command", command: "ls" as never }] }] }),
  ).toThrow("PreToolUse[0].hooks[0].command");
});

test.each([
  [undefined],
  [{}],
  [{ digests: [] }],
  [{ digests: ["abc"] }],
  [{ key: "short" }],
  ["all"],
  [{ digests: ["0".repeat(64)], key: "k".repeat(32) }],
])("%j does not say which declarations a worker runs", (allow) => {
  expect(() => checkAllowed(allow)).toThrow("option_invalid");
});
