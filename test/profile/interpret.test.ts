import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  EVENT_NAMES,
  EVENTS,
  type EventName,
  type HookExit,
  type Interpretation,
  interpret,
} from "./support.ts";

const CLOSED = { onFailure: "closed", grants: false } as const;
const OPEN = { onFailure: "open", grants: false } as const;
const OK: HookExit = { kind: "exit", code: 0 };
const GATES = EVENT_NAMES.filter((event) => EVENTS[event].role === "gate");
const OTHERS = EVENT_NAMES.filter((event) => EVENTS[event].role !== "gate");

function pre(answer: unknown, policy: { onFailure: "closed" | "open"; grants: boolean } = CLOSED) {
  return interpret(OK, JSON.stringify(answer), "", "PreToolUse", policy);
}

function codes({ notes }: Interpretation): string[] {
  return notes.map(({ code }) => code);
}

const specific = (fields: object) => ({ hookSpecificOutput: { hookEventName: "PreToolUse", ...fields } });

describe("exit 2", () => {
  test("blocks with the trimmed stderr as its reason and ignores stdout", () => {
    const { verdict, failed } = interpret(
      { kind: "exit", code: 2 },
      JSON.stringify(specific({ permissionDecision: "allow" })),
      "  no\n",
      "PreToolUse",
      CLOSED,
    );
    expect({ verdict, failed }).toEqual({ verdict: { decision: "deny", reason: "no" }, failed: false });
  });

  test("without a word on stderr still has a reason", () => {
    const { verdict } = interpret({ kind: "exit", code: 2 }, "", " \n", "PreToolUse", CLOSED);
    expect(verdict).toEqual({ decision: "deny", reason: "blocked by a hook that gave no reason" });
  });

  test("on an event that cannot be blocked is told and ignored", () => {
    const seen = interpret({ kind: "exit", code: 2 }, "", "no", "SessionStart", CLOSED);
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(codes(seen)).toEqual(["denied_by_exit", "field_ignored"]);
  });

  test.each(GATES)("blocks %s even with on_failure: open", (event) => {
    expect(interpret({ kind: "exit", code: 2 }, "", "no", event, OPEN).verdict).toEqual({
      decision: "deny",
      reason: "no",
    });
  });
});

describe("an answer of a guard that lives on", () => {
  const answered = (blocks: boolean): HookExit => ({ kind: "answered", blocks });

  test("is read like what a command printed that exited 0", () => {
    const denial = JSON.stringify(specific({ permissionDecision: "deny", permissionDecisionReason: "no" }));
    for (const text of [denial, "", "{}", '{"verdict":"deny"}'])
      expect(interpret(answered(false), text, "", "PreToolUse", CLOSED)).toEqual(
        interpret(OK, text, "", "PreToolUse", CLOSED),
      );
  });

  test.each(EVENT_NAMES)("that blocks means on %s what exit 2 means", (event) => {
    const { notes: _notes, ...block } = interpret(answered(true), "", " no ", event, OPEN);
    const { notes: _others, ...exit } = interpret({ kind: "exit", code: 2 }, "", " no ", event, OPEN);
    expect(block).toEqual(exit);
  });

  test("that blocks is told as a block", () => {
    expect(interpret(answered(true), "", "no", "PreToolUse", CLOSED).notes).toEqual([
      { code: "denied_by_exit", detail: "block" },
    ]);
  });
});

test("a quote of what a failing guard printed is as long as the caller says", () => {
  const quoted = (quoteLimit?: number) => {
    const policy = { ...CLOSED, ...(quoteLimit === undefined ? {} : { quoteLimit }) };
    const { notes } = interpret({ kind: "exit", code: 1 }, "", "x".repeat(2_000), "PreToolUse", policy);
    return /x+/.exec(notes[0]?.detail.replace("exit", "") ?? "")?.[0].length;
  };
  expect([quoted(), quoted(1_024)]).toEqual([300, 1_024]);
});

describe("a failing hook", () => {
  const failures: [string, HookExit, string][] = [
    ["exit 1", { kind: "exit", code: 1 }, "exit 1"],
    ["exit 126", { kind: "exit", code: 126 }, "exit 126"],
    ["exit 127", { kind: "exit", code: 127 }, "exit 127"],
    ["a signal", { kind: "signal", signal: "SIGKILL" }, "killed by SIGKILL"],
    ["a failed start", { kind: "failed", message: "spawn ENOENT" }, "spawn ENOENT"],
  ];

  test.each(failures)("by %s denies on a gate and says how it ended", (_name, exit, said) => {
    const { verdict, failed } = interpret(exit, "", "", "PreToolUse", CLOSED);
    expect({ verdict, failed }).toEqual({
      verdict: { decision: "deny", reason: `the guard did not answer: ${said}` },
      failed: true,
    });
  });

  test.each(failures)("by %s is admitted visibly with on_failure: open", (_name, exit) => {
    const seen = interpret(exit, "", "", "PreToolUse", OPEN);
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(codes(seen)).toEqual(["hook_failed", "admitted_on_failure"]);
  });

  test.each(failures)("by %s is only logged on an event that is no gate", (_name, exit) => {
    const seen = interpret(exit, "", "", "PostToolUse", CLOSED);
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(codes(seen)).toEqual(["hook_failed"]);
  });

  test("has its output quoted in the reason", () => {
    const { verdict } = interpret({ kind: "exit", code: 1 }, "out", "err", "PreToolUse", CLOSED);
    expect(verdict).toEqual({
      decision: "deny",
      reason: 'the guard did not answer: exit 1: stderr "err"; stdout "out"',
    });
  });

  test("has long output cut in the reason", () => {
    const { verdict } = interpret({ kind: "exit", code: 1 }, "", "x".repeat(10_000), "PreToolUse", CLOSED);
    expect(verdict.decision === "deny" && verdict.reason.length).toBeLessThan(400);
  });

  test.each(["closed", "open"] as const)("by timeout denies on a gate with on_failure: %s", (onFailure) => {
    const seen = interpret({ kind: "timeout", timeoutMs: 5 }, "", "", "PreToolUse", {
      onFailure,
      grants: false,
    });
    expect(seen.verdict.decision).toBe("deny");
    expect(codes(seen)).toEqual(["hook_timeout"]);
  });

  test("by timeout is only logged on an event that is no gate", () => {
    const seen = interpret({ kind: "timeout", timeoutMs: 5 }, "", "", "Stop", CLOSED);
    expect(seen.verdict).toEqual({ decision: "none" });
  });
});

describe("output of exit 0", () => {
  test.each(["", " \n\t", "\uFEFF", "\uFEFF \n"])("of nothing (%j) is no decision and no note", (stdout) => {
    expect(interpret(OK, stdout, "chatter", "PreToolUse", CLOSED)).toEqual({
      verdict: { decision: "none" },
      notes: [],
      failed: false,
    });
  });

  test("may have a byte order mark and white space around the object", () => {
    const stdout = `\uFEFF\n ${JSON.stringify(specific({ permissionDecision: "deny", permissionDecisionReason: "no" }))}\n`;
    expect(interpret(OK, stdout, "", "PreToolUse", CLOSED).verdict).toEqual({
      decision: "deny",
      reason: "no",
    });
  });

  test.each(["[]", "[1]", "1", "null", "true", '"text"', "all fine"])(
    "%s without an object is chatter",
    (stdout) => {
      const seen = interpret(OK, stdout, "", "PreToolUse", CLOSED);
      expect(seen.verdict).toEqual({ decision: "none" });
      expect(codes(seen)).toEqual(["no_structured_output"]);
    },
  );

  test.each(["UserPromptSubmit", "SessionStart"] as const)("as plain text becomes context on %s", (event) => {
    expect(interpret(OK, " be kind \n", "", event, CLOSED).verdict).toEqual({
      decision: "none",
      context: "be kind",
    });
  });

  const unreadable = [
    "{",
    '{"permissionDecision":',
    'noise {"hookSpecificOutput":{"permissionDecision":"deny"}}',
    '{"a":1}{"b":2}',
    '[{"a":1}]',
    '"{"',
    "{'a': 1}",
  ];
  test.each(unreadable)("%s may have been an answer, so a gate denies", (stdout) => {
    const seen = interpret(OK, stdout, "", "PreToolUse", CLOSED);
    expect(seen.verdict.decision).toBe("deny");
    expect(codes(seen)).toEqual(["unreadable_output"]);
    expect(seen.failed).toBe(true);
  });

  test.each(unreadable)("%s is admitted visibly with on_failure: open", (stdout) => {
    expect(codes(interpret(OK, stdout, "", "PreToolUse", OPEN))).toEqual([
      "unreadable_output",
      "admitted_on_failure",
    ]);
  });

  test.each(unreadable)("%s on an event that is no gate is only logged", (stdout) => {
    expect(interpret(OK, stdout, "", "PostToolUse", CLOSED).verdict).toEqual({ decision: "none" });
  });

  test("that was cut denies on a gate, even if what is left is valid", () => {
    const cut = { ...CLOSED, stdoutTruncated: true };
    const seen = interpret(OK, "{}", "", "PreToolUse", cut);
    expect(seen.verdict.decision).toBe("deny");
    expect(codes(seen)).toEqual(["output_truncated"]);
  });

  test("that was cut is admitted visibly with on_failure: open", () => {
    const seen = interpret(OK, "{}", "", "PreToolUse", { ...OPEN, stdoutTruncated: true });
    expect(codes(seen)).toEqual(["output_truncated", "admitted_on_failure"]);
  });

  test("that was cut on an event that is no gate is only logged", () => {
    const seen = interpret(OK, "{}", "", "Stop", { ...CLOSED, stdoutTruncated: true });
    expect(seen.verdict).toEqual({ decision: "none" });
  });
});

describe("decisions of PreToolUse", () => {
  test.each([
    [{ permissionDecision: "deny", permissionDecisionReason: " no " }, undefined, "no"],
    [{ permissionDecision: "deny" }, "top", "top"],
    [
      { permissionDecision: "deny", permissionDecisionReason: " " },
      undefined,
      "denied by a hook that gave no reason",
    ],
    [
      { permissionDecision: "deny", permissionDecisionReason: 3 },
      undefined,
      "denied by a hook that gave no reason",
    ],
  ])("deny %j with top reason %j says why", (fields, reason, expected) => {
    expect(pre({ ...specific(fields), ...(reason ? { reason } : {}) }).verdict).toEqual({
      decision: "deny",
      reason: expected,
    });
  });

  test("ask denies, because nobody is there to answer", () => {
    const seen = pre(specific({ permissionDecision: "ask", permissionDecisionReason: "sure?" }));
    expect(seen.verdict).toEqual({
      decision: "deny",
      reason: "the guard asks for approval and nobody is there to answer: sure?",
    });
    expect(codes(seen)).toEqual(["ask_denied"]);
  });

  test.each(["Deny", "DENY", "block", "approve", "", null, true, 1, {}, [], "defer"])(
    "unknown value %j denies whatever on_failure says and names the value",
    (value) => {
      const seen = pre(specific({ permissionDecision: value }), OPEN);
      expect(seen.verdict).toMatchObject({
        decision: "deny",
        reason: expect.stringContaining(JSON.stringify(value)),
      });
      expect(codes(seen)).toEqual(["unknown_decision"]);
    },
  );

  test("allow without grants is no decision", () => {
    const seen = pre(specific({ permissionDecision: "allow" }));
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(codes(seen)).toEqual(["allow_not_granted"]);
  });

  test("allow with grants allows", () => {
    const seen = pre(specific({ permissionDecision: "allow" }), { onFailure: "closed", grants: true });
    expect(seen).toEqual({ verdict: { decision: "allow" }, notes: [], failed: false });
  });

  test("allow carries context", () => {
    const seen = pre(specific({ permissionDecision: "allow", additionalContext: "c" }));
    expect(seen.verdict).toEqual({ decision: "none", context: "c" });
  });

  test("hookEventName is not needed", () => {
    expect(pre({ hookSpecificOutput: { permissionDecision: "deny" } }).verdict.decision).toBe("deny");
  });

  test("another hookEventName misplaces the decision, so the gate denies", () => {
    const seen = pre({ hookSpecificOutput: { hookEventName: "PostToolUse", permissionDecision: "allow" } });
    expect(seen.verdict.decision).toBe("deny");
    expect(codes(seen)).toEqual(["misplaced_decision"]);
  });

  test.each([
    { decision: "block" },
    { decision: "approve" },
    { permissionDecision: "deny" },
    { permission: "deny" },
    { behavior: "deny" },
    { verdict: "no" },
    { allow: false },
    { allowed: false },
    { approve: false },
    { approved: false },
    { deny: true },
    { denied: true },
    { block: true },
    { blocked: true },
    { continue: false },
    { hookSpecificOutput: "deny" },
    { hookSpecificOutput: null },
    { hookSpecificOutput: [{ permissionDecision: "deny" }] },
    { hookSpecificOutput: { decision: "block" } },
    { hookSpecificOutput: { permissionDecision: "allow" }, decision: "block" },
  ])("misplaced %j denies", (answer) => {
    const seen = pre(answer);
    expect(seen.verdict.decision).toBe("deny");
    expect(codes(seen)).toContain("misplaced_decision");
    expect(seen.failed).toBe(true);
  });

  test("misplaced with on_failure: open is admitted visibly", () => {
    const seen = pre({ decision: "block" }, OPEN);
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(codes(seen)).toEqual(["misplaced_decision", "admitted_on_failure"]);
  });

  test("suppressOutput admits, and is passed on for those who can heed it", () => {
    const seen = pre({ suppressOutput: true });
    expect(seen).toEqual({ verdict: { decision: "none", suppress: true }, notes: [], failed: false });
    expect(pre({ suppressOutput: "yes" }).verdict).toEqual({ decision: "none" });
  });

  test.each([{}, { systemMessage: "hello" }, { continue: true }, specific({})])(
    "%j without a decision admits",
    (answer) => {
      expect(pre(answer)).toEqual({ verdict: { decision: "none" }, notes: [], failed: false });
    },
  );
});

describe("updatedInput", () => {
  test("replaces the input whole", () => {
    expect(pre(specific({ permissionDecision: "allow", updatedInput: { command: "ls" } })).verdict).toEqual({
      decision: "rewrite",
      updatedInput: { command: "ls" },
      grants: false,
    });
  });

  test("without a decision is a rewrite too", () => {
    expect(pre(specific({ updatedInput: {}, additionalContext: "why" })).verdict).toEqual({
      decision: "rewrite",
      updatedInput: {},
      grants: false,
      context: "why",
    });
  });

  test("grants only with allow and grants: true", () => {
    const grants = { onFailure: "closed", grants: true } as const;
    expect(pre(specific({ permissionDecision: "allow", updatedInput: {} }), grants).verdict).toMatchObject({
      grants: true,
    });
  });

  test.each([
    specific({ updatedInput: "ls" }),
    specific({ updatedInput: null }),
    specific({ updatedInput: [] }),
    { updatedInput: { command: "ls" } },
  ])("%j cannot be used, so the original must not run either", (answer) => {
    const seen = pre(answer, OPEN);
    expect(seen.verdict.decision).toBe("deny");
    expect(codes(seen)).toContain("misplaced_decision");
  });

  test("outside PreToolUse is logged and ignored", () => {
    const seen = interpret(
      OK,
      JSON.stringify({ hookSpecificOutput: { updatedInput: {} } }),
      "",
      "UserPromptSubmit",
      CLOSED,
    );
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(seen.notes).toEqual([{ code: "field_ignored", detail: "updatedInput on UserPromptSubmit" }]);
  });
});

describe("decisions elsewhere", () => {
  test.each([
    "UserPromptSubmit",
    "PostToolUse",
    "Stop",
    "SubagentStop",
    "PostToolUseFailure",
    "agent_prompt",
  ] as const)("block denies on %s", (event) => {
    const stdout = JSON.stringify({ decision: "block", reason: "r" });
    expect(interpret(OK, stdout, "", event, CLOSED).verdict).toEqual({ decision: "deny", reason: "r" });
  });

  test("block takes stopReason when there is no reason", () => {
    const stdout = JSON.stringify({ decision: "block", stopReason: "s" });
    expect(interpret(OK, stdout, "", "Stop", CLOSED).verdict).toEqual({ decision: "deny", reason: "s" });
  });

  test("block on an event that cannot be blocked is logged and ignored", () => {
    const seen = interpret(OK, JSON.stringify({ decision: "block" }), "", "SessionEnd", CLOSED);
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(codes(seen)).toEqual(["field_ignored"]);
  });

  test.each(["approve", "deny", null, false])("decision %j is unknown and denies", (decision) => {
    const seen = interpret(OK, JSON.stringify({ decision }), "", "UserPromptSubmit", CLOSED);
    expect(seen.verdict.decision).toBe("deny");
    expect(codes(seen)).toEqual(["unknown_decision"]);
  });

  test("permissionDecision on UserPromptSubmit is misplaced and denies", () => {
    const stdout = JSON.stringify({ hookSpecificOutput: { permissionDecision: "deny" } });
    expect(interpret(OK, stdout, "", "UserPromptSubmit", CLOSED).verdict.decision).toBe("deny");
  });

  test("continue: false on an event that is no gate is logged and ignored", () => {
    const seen = interpret(OK, JSON.stringify({ continue: false }), "", "PostToolUse", CLOSED);
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(codes(seen)).toEqual(["misplaced_decision"]);
  });

  test("context is passed on where it is accepted, from either place", () => {
    const seen = interpret(OK, JSON.stringify({ additionalContext: "c" }), "", "SessionStart", CLOSED);
    expect(seen.verdict).toEqual({ decision: "none", context: "c" });
  });

  test.each([" ", 3, null])("context %j is none", (additionalContext) => {
    const seen = interpret(OK, JSON.stringify({ additionalContext }), "", "SessionStart", CLOSED);
    expect(seen).toEqual({ verdict: { decision: "none" }, notes: [], failed: false });
  });

  test("context where it is not accepted is logged and ignored", () => {
    const seen = interpret(OK, JSON.stringify({ additionalContext: "c" }), "", "Stop", CLOSED);
    expect(seen.verdict).toEqual({ decision: "none" });
    expect(seen.notes).toEqual([{ code: "field_ignored", detail: "additionalContext on Stop" }]);
  });
});

describe("PermissionRequest", () => {
  const ask = (
    decision: unknown,
    policy: { onFailure: "closed" | "open"; grants: boolean } = CLOSED,
    top = {},
  ) =>
    interpret(
      OK,
      JSON.stringify({ hookSpecificOutput: { decision }, ...top }),
      "",
      "PermissionRequest",
      policy,
    );

  test("denies with its message", () => {
    expect(ask({ behavior: "deny", message: "no" }).verdict).toEqual({ decision: "deny", reason: "no" });
  });

  test("allows only with grants", () => {
    const grants = { onFailure: "closed", grants: true } as const;
    expect([ask({ behavior: "allow" }).verdict, ask({ behavior: "allow" }, grants).verdict]).toEqual([
      { decision: "none" },
      { decision: "allow" },
    ]);
  });

  test.each(["ask", undefined, null, 1])("behavior %j is unknown and denies", (behavior) => {
    expect(ask({ behavior }).verdict.decision).toBe("deny");
  });

  test("allow beside a misplaced decision denies", () => {
    expect(ask({ behavior: "allow" }, CLOSED, { deny: true }).verdict.decision).toBe("deny");
  });

  test("a decision that is no object is misplaced and denies", () => {
    expect(ask("deny").verdict.decision).toBe("deny");
  });
});

// The oracle is written from the profile's text, not from the code: what may admit a gate.
function mayAdmit(event: EventName, exit: HookExit, stdout: string, isCut: boolean): boolean {
  if (exit.kind !== "exit" || exit.code !== 0) return false;
  if (isCut) return false;
  const text = stdout.replace(/^\uFEFF/, "").trim();
  if (text === "" || !text.includes("{")) return true;
  let answer: Record<string, unknown>;
  try {
    answer = JSON.parse(text);
  } catch {
    return false;
  }
  if (Array.isArray(answer) || typeof answer !== "object") return false;
  const own = (key: string) => Object.hasOwn(answer, key);
  if (own("hookSpecificOutput")) {
    const inner = answer.hookSpecificOutput;
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return false;
    const { permissionDecision, decision } = inner as Record<string, unknown>;
    if (
      Object.hasOwn(inner, "permissionDecision") &&
      (event !== "PreToolUse" || permissionDecision !== "allow")
    )
      return false;
    if (Object.hasOwn(inner, "decision")) {
      if (event !== "PermissionRequest") return false;
      if ((decision as { behavior?: unknown } | null)?.behavior !== "allow") return false;
    }
  }
  // `decision: "block"` denies; any other value is unknown and denies, or is in a place that is not read.
  if (own("decision") || own("permissionDecision")) return false;
  return answer.continue !== false;
}

const gate = fc.constantFrom(...GATES);
const exitKind = fc.oneof(
  { weight: 4, arbitrary: fc.constant<HookExit>(OK) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 0, max: 255 }).map((code): HookExit => ({ kind: "exit", code })),
  },
  { weight: 1, arbitrary: fc.string().map((signal): HookExit => ({ kind: "signal", signal })) },
  { weight: 1, arbitrary: fc.nat().map((timeoutMs): HookExit => ({ kind: "timeout", timeoutMs })) },
  { weight: 1, arbitrary: fc.string().map((message): HookExit => ({ kind: "failed", message })) },
);
const decisionish = fc.oneof(
  fc.constantFrom("allow", "deny", "ask", "block", "approve", true, false, null),
  fc.jsonValue(),
);
const decisionKey = fc.constantFrom(
  "permissionDecision",
  "decision",
  "continue",
  "behavior",
  "updatedInput",
  "hookEventName",
  "reason",
  "__proto__",
  "constructor",
);
const object = fc.dictionary(decisionKey, decisionish, { maxKeys: 4 });
const answerText = fc
  .record({ top: object, inner: fc.option(fc.oneof(object, fc.jsonValue()), { nil: undefined }) })
  .map(({ top, inner }) => JSON.stringify(inner === undefined ? top : { ...top, hookSpecificOutput: inner }));
const output = fc.oneof(
  answerText,
  answerText.map((text) => `noise ${text}`),
  answerText.map((text) => text.slice(0, Math.floor(text.length / 2))),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("utf8")),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.json(),
);

describe("whatever a guard prints and however it dies", () => {
  test("a gate is admitted only by a clean exit with nothing, chatter or a valid non-deny verdict", () => {
    fc.assert(
      fc.property(
        gate,
        exitKind,
        output,
        fc.string(),
        fc.boolean(),
        fc.boolean(),
        (event, exit, out, err, cut, grants) => {
          const policy = { onFailure: "closed", grants, stdoutTruncated: cut } as const;
          const { verdict } = interpret(exit, out, err, event, policy);
          if (verdict.decision !== "deny") expect(mayAdmit(event, exit, out, cut)).toBe(true);
        },
      ),
      { numRuns: 20_000 },
    );
  });

  test("an explicit deny, a block and a timeout are never opened by on_failure: open", () => {
    fc.assert(
      fc.property(gate, fc.string(), fc.string(), fc.nat(), (event, out, err, timeoutMs) => {
        for (const exit of [
          { kind: "exit", code: 2 },
          { kind: "timeout", timeoutMs },
        ] as HookExit[])
          expect(interpret(exit, out, err, event, OPEN).verdict.decision).toBe("deny");
      }),
    );
  });

  test("a deny always has a reason that is not blank", () => {
    fc.assert(
      fc.property(fc.constantFrom(...EVENT_NAMES), exitKind, output, fc.string(), (event, exit, out, err) => {
        const { verdict } = interpret(exit, out, err, event, CLOSED);
        if (verdict.decision === "deny") expect(verdict.reason.trim()).not.toBe("");
      }),
    );
  });

  test("allow comes only from an entry that grants", () => {
    fc.assert(
      fc.property(fc.constantFrom(...EVENT_NAMES), output, (event, out) => {
        const { verdict } = interpret(OK, out, "", event, CLOSED);
        expect(verdict.decision).not.toBe("allow");
        if (verdict.decision === "rewrite") expect(verdict.grants).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  test("an event that is no gate is never stopped by a failure", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...OTHERS),
        exitKind.filter((exit) => exit.kind !== "exit" || (exit.code !== 0 && exit.code !== 2)),
        output,
        (event, exit, out) => {
          expect(interpret(exit, out, "", event, CLOSED).verdict).toEqual({ decision: "none" });
        },
      ),
    );
  });
});

describe("an answer that says deny in other words does not clear a gate", () => {
  const deny = '"permissionDecision":"deny"';
  test.each([
    ['{"hook_specific_output":{"permission_decision":"deny"}}'],
    ['{"hookspecificoutput":{"permissiondecision":"deny"}}'],
    ['{"hookSpecificOutput":{"permission-decision":"deny"}}'],
    [`{"hookSpecificOutput":{${deny}},"hookSpecificOutput":{}}`],
    [`{"hookSpecificOutput":{${deny},"permissionDecision":"allow"}}`],
    [`{"__proto__":{"hookSpecificOutput":{${deny}}}}`],
    [`{"hookSpecificOutput":{${deny}},\r\n"hookSpecificOutput":{}}`],
    [`{"hookSpecificOutput":{${deny}},"hookSpecificOutpu\\u0074":{}}`],
    [`{"hookSpecificOutput":{${deny}},\u2028"x":1}`],
    [`{"output":{"hookSpecificOutput":{${deny}}}}`],
    [`{"hookSpecificOutput":{"PreToolUse":{${deny}}}}`],
    [`{"list":[1,{"permission_decision":"deny"}]}`],
    ['{"hookSpecificOutput":{"updated_input":{"command":"true"}}}'],
    ['{"hookSpecificOutput":{"permissionDecisionReason":"no"}}'],
    ['{"continue":"false"}'],
    ['{"continue":0}'],
    ['{"Continue":false}'],
    ['{"action":"deny"}'],
    ['{"result":"BLOCKED"}'],
    ['{"ok":false,"reason":"no"}'],
    ['{"reject":true}'],
  ])("%s", (stdout) => {
    const { verdict, notes } = interpret({ kind: "exit", code: 0 }, stdout, "", "PreToolUse", {
      onFailure: "closed",
      grants: false,
    });
    expect(verdict.decision).toBe("deny");
    // U+2028 between tokens is no JSON at all: unreadable denies as well.
    expect(["misplaced_decision", "unreadable_output"]).toContain(notes[0]?.code);
  });

  test.each([
    ['{"continue":true}'],
    ['{"ok":true}'],
    ['{"status":"done","result":{"lines":[1,null,"deny"]}}'],
    ['{"log":["{","}"],"note":"a \\"permissionDecision\\": in a text"}'],
    ['{"a":{"x":1},"b":{"x":2}}'],
  ])("%s says nothing of the call", (stdout) => {
    const { verdict } = interpret({ kind: "exit", code: 0 }, stdout, "", "PreToolUse", CLOSED);
    expect(verdict).toEqual({ decision: "none" });
  });

  test("but a tool input that holds such a key is the guard's to rewrite", () => {
    const stdout = '{"hookSpecificOutput":{"updatedInput":{"decision":"x","allow":true}}}';
    const { verdict } = interpret({ kind: "exit", code: 0 }, stdout, "", "PreToolUse", {
      onFailure: "closed",
      grants: false,
    });
    expect(verdict.decision).toBe("rewrite");
  });
});

test("a megabyte of escapes in a reason is read like any other", () => {
  const reason = '\\"{'.repeat(250_000);
  const stdout = JSON.stringify({
    hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: reason },
  });
  const { verdict } = interpret({ kind: "exit", code: 0 }, stdout, "", "PreToolUse", CLOSED);
  expect(verdict).toEqual({ decision: "deny", reason });
});
