import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TIMEOUT_MAX_SECONDS } from "../../src/declaration/schema.ts";
import { validateDeclaration } from "../../src/declaration/validate.ts";
import { REFUSAL_CODES } from "../../src/errors.ts";
import { EVENT_NAMES, SEAMLESS_EVENTS } from "../../src/profile/events.ts";

const command = { type: "command", command: ["node", "guard.js"] };
const withEntry = (entry: unknown) => ({ PreToolUse: [{ hooks: [entry] }] });
const AT = "declaration: PreToolUse[0].hooks[0]";

const only = (raw: unknown) => {
  const { issues } = validateDeclaration(raw);
  expect(issues).toHaveLength(1);
  return issues[0];
};

describe("a declaration", () => {
  test("with every field of both entry types is valid and returned as it was", () => {
    const declaration = {
      PreToolUse: [
        {
          matcher: "kind:shell",
          hooks: [
            {
              ...command,
              timeout: 0.5,
              on_failure: "open",
              grants: true,
              env: { A_1: "" },
              source: "imported:codex",
            },
            {
              type: "function",
              handler: () => null,
              name: "n",
              timeout: 3600,
              on_failure: "closed",
              grants: false,
            },
          ],
        },
      ],
      agent_exit: [{ hooks: [command] }],
    };
    const { declaration: valid, issues } = validateDeclaration(declaration);
    expect(issues).toEqual([]);
    expect({ ...valid }).toEqual(declaration);
  });

  test("without any event is valid", () => {
    expect(validateDeclaration({}).issues).toEqual([]);
  });

  test.each([null, undefined, [], "x", 3, () => {}])("of %s is refused as a whole", (raw) => {
    expect(only(raw)).toMatchObject({ code: "declaration_invalid", path: "declaration" });
  });

  test("that asks for a method of Object as an event is refused", () => {
    const raw = JSON.parse('{"__proto__": [], "constructor": [], "hasOwnProperty": []}');
    expect(validateDeclaration(raw).issues.map(({ code }) => code)).toEqual([
      "event_unknown",
      "event_unknown",
      "event_unknown",
    ]);
  });

  test("names its source at the head of every path", () => {
    expect(validateDeclaration({ Nope: [] }, "/p/hooks.yaml").issues[0]?.path).toBe("/p/hooks.yaml: Nope");
  });
});

describe("an event", () => {
  test("that nobody knows is refused with what is known", () => {
    expect(only({ Nope: [] })).toMatchObject({
      code: "event_unknown",
      message: '"Nope" is not an event: there is no seam for it',
    });
  });

  test.each([
    ["pre_tool_use", "PreToolUse"],
    ["pretooluse", "PreToolUse"],
    ["session-start", "SessionStart"],
    ["PreToolUs", "PreToolUse"],
    ["PostTool", "PostToolUse"],
  ])("%s is refused with the name it may have meant", (name, meant) => {
    expect(only({ [name]: [] })).toMatchObject({ code: "event_unknown", hint: `did you mean ${meant}?` });
  });

  test("that is a tool's name is refused with the matcher that was meant", () => {
    expect(only({ Bash: [] })?.hint).toBe("did you mean PreToolUse with matcher Bash?");
  });

  test.each(SEAMLESS_EVENTS)("%s has no seam here and is refused as unsupported", (name) => {
    expect(only({ [name]: [] })?.code).toBe("event_unsupported");
  });

  test.each([null, {}, "x", { hooks: [] }])("with %j in place of groups is refused", (groups) => {
    expect(only({ Stop: groups })).toMatchObject({ code: "declaration_invalid", path: "declaration: Stop" });
  });
});

describe("a group", () => {
  const AT_GROUP = "declaration: PreToolUse[0]";
  test.each([
    [null, "declaration_invalid", AT_GROUP, "null"],
    [{ hooks: [] }, "declaration_invalid", `${AT_GROUP}.hooks`, "empty"],
    [{ hooks: "x" }, "declaration_invalid", `${AT_GROUP}.hooks`, '"x"'],
    [{}, "declaration_invalid", `${AT_GROUP}.hooks`, "hooks is missing"],
    [{ matcher: 3, hooks: [command] }, "matcher_invalid", `${AT_GROUP}.matcher`, "3"],
    [{ matcher: null, hooks: [command] }, "matcher_invalid", `${AT_GROUP}.matcher`, "null"],
    [{ matcher: "(", hooks: [command] }, "matcher_invalid", `${AT_GROUP}.matcher`, '"("'],
    [{ Matcher: "x", hooks: [command] }, "declaration_invalid", `${AT_GROUP}.Matcher`, '"x"'],
    [{ timeout: 3, hooks: [command] }, "declaration_invalid", `${AT_GROUP}.timeout`, "3"],
  ] as const)("%j is refused as %s", (group, code, path, shown) => {
    expect(only({ PreToolUse: [group] })).toMatchObject({
      code,
      path,
      message: expect.stringContaining(shown),
    });
  });

  test("written flat is refused with where the entry belongs", () => {
    const { issues } = validateDeclaration({ PreToolUse: [command] });
    expect(issues.map(({ path }) => path)).toEqual([
      "declaration: PreToolUse[0].type",
      "declaration: PreToolUse[0].command",
      "declaration: PreToolUse[0].hooks",
    ]);
  });

  test("with a matcher on an event without a subject is refused", () => {
    expect(only({ Stop: [{ matcher: "x", hooks: [command] }] })?.code).toBe("matcher_invalid");
  });
});

describe("an entry", () => {
  test.each([
    [null, "declaration_invalid", AT, "null"],
    ["node guard.js", "declaration_invalid", AT, '"node guard.js"'],
    [{}, "handler_type_unsupported", `${AT}.type`, "type is missing"],
    [{ type: "Command", command: ["x"] }, "handler_type_unsupported", `${AT}.type`, "unknown"],
    [{ type: "prompt" }, "handler_type_unsupported", `${AT}.type`, "reserved"],
    [{ type: "agent" }, "handler_type_unsupported", `${AT}.type`, "reserved"],
    [{ type: "mcp_tool" }, "handler_type_unsupported", `${AT}.type`, "reserved"],
    [{ type: "command", command: "node guard.js" }, "command_invalid", `${AT}.command`, "shell string"],
    [{ type: "command", command: [] }, "command_invalid", `${AT}.command`, "[]"],
    [{ type: "command" }, "command_invalid", `${AT}.command`, "command is missing"],
    [{ type: "command", command: ["a", ""] }, "command_invalid", `${AT}.command[1]`, '""'],
    [{ type: "command", command: [" \t"] }, "command_invalid", `${AT}.command[0]`, '" \\t"'],
    [{ type: "command", command: ["a\0b"] }, "command_invalid", `${AT}.command[0]`, "NUL"],
    [{ type: "command", command: ["a", 3] }, "command_invalid", `${AT}.command[1]`, "3"],
    [{ ...command, timeout: 0 }, "deadline_invalid", `${AT}.timeout`, "0"],
    [{ ...command, timeout: -1 }, "deadline_invalid", `${AT}.timeout`, "-1"],
    [{ ...command, timeout: "5" }, "deadline_invalid", `${AT}.timeout`, '"5"'],
    [{ ...command, timeout: Number.NaN }, "deadline_invalid", `${AT}.timeout`, "NaN"],
    [{ ...command, timeout: Number.POSITIVE_INFINITY }, "deadline_invalid", `${AT}.timeout`, "Infinity"],
    [{ ...command, timeout: null }, "deadline_invalid", `${AT}.timeout`, "null"],
    [{ ...command, on_failure: "Open" }, "declaration_invalid", `${AT}.on_failure`, '"Open"'],
    [{ ...command, grants: "yes" }, "declaration_invalid", `${AT}.grants`, '"yes"'],
    [{ ...command, onFailure: "open" }, "declaration_invalid", `${AT}.onFailure`, '"open"'],
    [{ ...command, args: ["x"] }, "declaration_invalid", `${AT}.args`, '["x"]'],
    [{ ...command, env: { "A-B": "x" } }, "declaration_invalid", `${AT}.env.A-B`, ""],
    [{ ...command, env: { A: "x\0" } }, "declaration_invalid", `${AT}.env.A`, "NUL"],
    [{ ...command, env: { A: 3 } }, "declaration_invalid", `${AT}.env.A`, "3"],
    [{ ...command, source: "imported:gemini" }, "declaration_invalid", `${AT}.source`, "imported:gemini"],
    [{ ...command, source: 1 }, "declaration_invalid", `${AT}.source`, "1"],
    [{ ...command, env: [] }, "declaration_invalid", `${AT}.env`, "[]"],
    [{ type: "function" }, "declaration_invalid", `${AT}.handler`, "handler is missing"],
    [{ type: "function", handler: "x" }, "declaration_invalid", `${AT}.handler`, '"x"'],
    [{ type: "function", handler: () => null, env: { A: "b" } }, "declaration_invalid", `${AT}.env`, ""],
  ] as const)("%j is refused as %s", (entry, code, path, shown) => {
    expect(only(withEntry(entry))).toMatchObject({ code, path, message: expect.stringContaining(shown) });
  });

  test("with a timeout in milliseconds is refused with the seconds that were meant", () => {
    expect(only(withEntry({ ...command, timeout: 5000 }))?.hint).toBe(
      "seconds, not milliseconds: did you mean 5?",
    );
  });

  test("may have the longest timeout", () => {
    expect(validateDeclaration(withEntry({ ...command, timeout: TIMEOUT_MAX_SECONDS })).issues).toEqual([]);
  });

  test.each([
    "PATH",
    "HOME",
    "IFS",
    "ENV",
    "BASH_ENV",
    "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES",
    "BRIDLE_RUN_ID",
    "CLAUDE_PROJECT_DIR",
  ])("may not set %s", (name) => {
    expect(only(withEntry({ ...command, env: { [name]: "x" } }))?.path).toBe(`${AT}.env.${name}`);
  });

  test("with a key named __proto__ is refused", () => {
    const entry = JSON.parse('{"type":"command","command":["a"],"__proto__":{"timeout":1}}');
    expect(only(withEntry(entry))?.path).toBe(`${AT}.__proto__`);
  });
});

test("all problems are reported together, in declaration order", () => {
  const { issues } = validateDeclaration({
    Nope: [],
    PreToolUse: [{ matcher: "(", hooks: [{ type: "command", command: [], timeout: 0 }, { type: "prompt" }] }],
    Setup: [],
  });
  expect(issues.map(({ code }) => code)).toEqual([
    "event_unknown",
    "matcher_invalid",
    "command_invalid",
    "deadline_invalid",
    "handler_type_unsupported",
    "event_unsupported",
  ]);
});

describe("properties", () => {
  const leaf = fc.oneof(
    fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
    }),
    fc.constantFrom<unknown>(
      "command",
      "function",
      ["a"],
      [],
      "",
      60,
      Number.NaN,
      "(",
      "kind:shell",
      () => null,
    ),
  );
  const key = fc.oneof(
    fc.constantFrom(
      "type",
      "command",
      "timeout",
      "on_failure",
      "grants",
      "env",
      "handler",
      "__proto__",
      "constructor",
    ),
    fc.string(),
  );
  const entry = fc.oneof(leaf, fc.dictionary(key, leaf));
  const group = fc.oneof(
    leaf,
    fc.record({ matcher: leaf, hooks: fc.oneof(leaf, fc.array(entry)) }, { requiredKeys: [] }),
  );
  const event = fc.oneof(
    fc.constantFrom<string>(...EVENT_NAMES, ...SEAMLESS_EVENTS, "__proto__"),
    fc.string(),
  );
  const raw = fc.oneof(leaf, fc.dictionary(event, fc.oneof(leaf, fc.array(group))));

  test("nothing makes validation throw, and every issue has a known code, a path and a message", () => {
    fc.assert(
      fc.property(raw, (value) => {
        for (const { code, path, message } of validateDeclaration(value).issues) {
          expect(REFUSAL_CODES).toHaveProperty(code);
          expect(path.startsWith("declaration")).toBe(true);
          expect(message.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
