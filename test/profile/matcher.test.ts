import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compileMatcher,
  MATCHER_MAX_LENGTH,
  matcherProblem,
  matches,
  TOOL_KINDS,
} from "../../src/profile/matcher.ts";

const hits = (source: string | undefined, name: unknown, kind = "other") =>
  compileMatcher(source).matches({ tool_name: name as string, tool_kind: kind }, "tool_name");

const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);

describe("a matcher", () => {
  test.each([undefined, "", "*"])("%j matches all", (source) => {
    expect(hits(source, "Bash")).toBe(true);
  });

  test.each([
    ["Bash", "Bash", true],
    ["Bash", "bash", false],
    ["Edit", "MultiEdit", false],
    ["Edit|Write", "Write", true],
    ["Edit, Write", "Write", true],
    ["Edit | Write", "Edit", true],
    ["Edit,,Write", "", false],
    ["Edit|Write", "Edit|Write", false],
    ["mcp__.*", "mcp__a__b", true],
    ["^Edit$", "MultiEdit", false],
    ["Edit$", "MultiEdit", true],
    ["(?i)bash", "BASH", true],
    [".*", "anything", true],
  ] as const)("%j on %j is %s", (source, name, expected) => {
    expect(hits(source, name)).toBe(expected);
  });

  test.each([
    ["kind:shell", "shell", true],
    ["kind:shell", "edit", false],
    ["kind:shell|edit", "edit", true],
    ["kind:shell, kind:web", "web", true],
    ["kind: shell", "shell", true],
  ] as const)("%j on a tool of kind %s is %s", (source, kind, expected) => {
    expect(hits(source, "Bash", kind)).toBe(expected);
  });

  test.each(["kind:", "kind:Shell", "kind:shell|foo", "kind:sh.*"])(
    "%j names no kind that exists",
    (source) => {
      expect(() => compileMatcher(source)).toThrow(/unknown tool kind/);
    },
  );

  test.each(["(", "[", "a{2,1}", "(?=x)", "(?<!x)y", "\\1", "a**"])("%j does not compile", (source) => {
    expect(() => compileMatcher(source)).toThrow(Error);
  });

  test.each([" ", "|", ", ,", "||"])("%j names nothing", (source) => {
    expect(() => compileMatcher(source)).toThrow("matcher names nothing");
  });

  test("that is too long does not compile", () => {
    expect(() => compileMatcher("a".repeat(MATCHER_MAX_LENGTH + 1))).toThrow(/at most/);
  });

  test.each(["Bash", "B.sh", "kind:shell"])("%j never matches a subject that is no string", (source) => {
    for (const subject of [undefined, null, 1, {}, []])
      expect(compileMatcher(source).matches({ tool_name: subject as never }, "tool_name")).toBe(false);
  });
});

describe("properties", () => {
  test("an exact name matches itself and nothing that contains it", () => {
    fc.assert(
      fc.property(word, fc.string(), fc.string(), (name, before, after) => {
        expect(hits(name, name)).toBe(true);
        expect(hits(name, `${before}${name}${after}`)).toBe(before === "" && after === "");
      }),
    );
  });

  test("a list matches exactly its members", () => {
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 5 }),
        word,
        fc.constantFrom("|", ",", ", "),
        (list, name, join) => {
          expect(hits(list.join(join), name)).toBe(list.includes(name));
        },
      ),
    );
  });

  test("what compiles throws on no subject", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), fc.string({ unit: "binary" }), (source, subject) => {
        let matcher: ReturnType<typeof compileMatcher>;
        try {
          matcher = compileMatcher(source);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
          return;
        }
        expect(typeof matcher.matches({ tool_name: subject, tool_kind: subject }, "tool_name")).toBe(
          "boolean",
        );
      }),
      { numRuns: 3_000 },
    );
  });

  test("a regular expression of the safe subset agrees with JavaScript", () => {
    const atom = fc.oneof(
      fc.constantFrom("a", "b", "A", ".", "[ab]", "[^a]", "\\d", "\\w", "(?:ab)", "(a|b)", "^", "$", "_"),
    );
    const piece = fc.tuple(atom, fc.constantFrom("", "?", "+", "*", "{1,2}")).map(([one, times]) => {
      return one === "^" || one === "$" ? one : one + times;
    });
    // A dot in front keeps it out of the exact form.
    const pattern = fc.array(piece, { minLength: 1, maxLength: 5 }).map((parts) => `.?${parts.join("")}`);
    fc.assert(
      fc.property(pattern, fc.stringMatching(/^[abAB0_]{0,10}$/), (source, subject) => {
        expect(hits(source, subject)).toBe(new RegExp(source).test(subject));
      }),
      { numRuns: 3_000 },
    );
  });

  test.each(["(a+)+$", "(a|aa)+$", "(.*)*b$", "^(([a-z])+.)+[A-Z]([a-z])+$"])(
    "the hostile pattern %s answers for 100 KB",
    (source) => {
      expect(hits(source, `${"a".repeat(100_000)}!`)).toBe(false);
    },
  );
});

describe("matches", () => {
  test("an event without a subject is always wanted", () => {
    expect(matches("Stop", "Bash", {})).toBe(true);
  });

  test("a matcher is tested against the event's own subject", () => {
    expect(matches("SessionStart", "resume", { source: "resume" })).toBe(true);
    expect(matches("SessionStart", "resume", { source: "startup", tool_name: "resume" })).toBe(false);
  });

  test("a matcher asked twice answers the same", () => {
    const asked = [1, 2].map(() => matches("PreToolUse", "OnlyHere", { tool_name: "OnlyHere" }));
    expect(asked).toEqual([true, true]);
  });

  test("no matcher wants all", () => {
    expect(matches("PreToolUse", undefined, { tool_name: "x" })).toBe(true);
  });
});

describe("matcherProblem", () => {
  test.each([
    ["PreToolUse", undefined, undefined],
    ["PreToolUse", "Bash", undefined],
    ["PreToolUse", "kind:shell", undefined],
    ["PreToolUse", "(", /missing closing/],
    ["UserPromptSubmit", "x", /has no subject/],
    ["Stop", "", /has no subject/],
    ["agent_prompt", "*", /has no subject/],
    ["SessionStart", "kind:shell", /carries no tool/],
    ["PreToolUse", "kind:nope", /unknown tool kind/],
  ] as const)("on %s with %j says %s", (event, source, expected) => {
    const problem = matcherProblem(event, source);
    if (expected === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(expected);
  });

  test("every kind of the profile is known", () => {
    expect(TOOL_KINDS.map((kind) => matcherProblem("PreToolUse", `kind:${kind}`))).toEqual(
      TOOL_KINDS.map(() => undefined),
    );
  });
});

describe("a kind that is not spelt as one is refused, because it would match no tool", () => {
  test.each([["Kind:shell"], ["^kind:shell"], ["KIND : edit"], ["kind:shell.*"]])("%s", (source) => {
    expect(() => compileMatcher(source)).toThrow(/kind/);
  });
});

test("kind:edit wants a patch that is typed into the shell, and no other command", () => {
  const wanted = (command: string) =>
    compileMatcher("kind:edit").matches(
      { tool_name: "Bash", tool_kind: "shell", tool_command: command },
      "tool_name",
    );
  expect(wanted("apply_patch <<'EOF'\n*** Begin Patch\nEOF")).toBe(true);
  expect(wanted("git diff")).toBe(false);
});
