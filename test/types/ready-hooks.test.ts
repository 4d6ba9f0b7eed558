// The type checker is the test: what a factory returns goes into a declaration as it is.

import { expect, expectTypeOf, test } from "vitest";
import * as hooks from "../../src/hooks/index.ts";
import { secretScan } from "../../src/hooks/secret-scan.ts";
import type { FunctionEntry, HookDeclaration, HookEntry } from "../../src/index.ts";

test("every factory returns an entry of a declaration", () => {
  expectTypeOf<ReturnType<(typeof hooks)[keyof typeof hooks]>>().toExtend<HookEntry>();
  expectTypeOf(secretScan).returns.toEqualTypeOf<FunctionEntry>();
  const guard = hooks.denyDestructiveShell();
  const declaration: HookDeclaration = {
    PreToolUse: [
      {
        hooks: [
          guard,
          hooks.protectPaths([".env*"]),
          secretScan(),
          { ...hooks.budget({ toolCalls: 1 }), on_failure: "open" },
        ],
      },
    ],
    PostToolUse: [{ matcher: "kind:edit", hooks: [hooks.lintAfterEdit({ command: ["true"] })] }],
    UserPromptSubmit: [{ hooks: [hooks.promptHygiene(), hooks.auditLog({ path: "a" })] }],
  };
  const entries = Object.values(declaration).flatMap((groups) => groups.flatMap((group) => group.hooks));
  expect(entries.map((entry) => entry.type)).toEqual(entries.map(() => "function"));
});

test("options that do not exist do not compile", () => {
  // @ts-expect-error: a misspelt option
  expect(() => hooks.denyDestructiveShell({ alow: [] })).toThrow(TypeError);
  // @ts-expect-error: the command is an argv, not a text for a shell
  expect(() => hooks.lintAfterEdit({ command: "eslint" })).toThrow(TypeError);
  // @ts-expect-error: no such mode
  expect(() => hooks.protectPaths(["x"], { mode: "read" })).toThrow(TypeError);
});
