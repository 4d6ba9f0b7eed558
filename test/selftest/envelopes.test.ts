import { expect, test } from "vitest";
import { validateDeclaration } from "../../src/declaration/validate.ts";
import { buildEnvelope, ENVELOPE_SCHEMAS, type EventName } from "../../src/index.ts";
import { EVENT_NAMES, EVENTS, PROVIDERS } from "../../src/profile/events.ts";
import { TOOL_KINDS } from "../../src/profile/matcher.ts";
import { STOCK_PROMPT_CASES, STOCK_TOOL_CASES } from "../../src/selftest/stock-cases.ts";

test.each(EVENT_NAMES)("the stock envelope of %s is a whole one", (event) => {
  for (const provider of PROVIDERS)
    expect(() =>
      ENVELOPE_SCHEMAS[event].parse(buildEnvelope(event, {}, { cwd: "/p", provider })),
    ).not.toThrow();
});

test.each(EVENT_NAMES)(
  "the stock envelope of %s names a provider when one fires it, and else none",
  (event) => {
    const fired = PROVIDERS.some((provider) => EVENTS[event][provider].fires);
    const envelope = buildEnvelope(event, { provider: "codex" }, { cwd: "/p" });
    expect(envelope.provider).toBe(fired ? "codex" : undefined);
    if (!fired) expect(Object.keys(envelope)).not.toContain("provider_session_id");
  },
);

test("every stock case is a whole envelope of the kind that it says", () => {
  for (const { name, kind, input } of STOCK_TOOL_CASES) {
    const envelope = buildEnvelope("PreToolUse", input, { cwd: "/p" });
    ENVELOPE_SCHEMAS.PreToolUse.parse(envelope);
    expect(envelope.tool_kind, name).toBe(kind);
  }
  for (const { input } of STOCK_PROMPT_CASES)
    ENVELOPE_SCHEMAS.UserPromptSubmit.parse(buildEnvelope("UserPromptSubmit", input, { cwd: "/p" }));
});

test("there are stock cases of every kind of tool that is known", () => {
  const kinds = new Set(STOCK_TOOL_CASES.map(({ kind }) => kind));
  expect(TOOL_KINDS.filter((kind) => !kinds.has(kind))).toEqual(["other"]);
});

test("what Bridle derives is told from the tool, not from the input, and the event is the one that is asked", () => {
  const input = {
    tool_name: "Bash",
    tool_input: { command: "rm x" },
    tool_command: "ls",
    tool_paths: ["/x"],
    tool_kind: "read",
    hook_event_name: "Stop",
  };
  const envelope = buildEnvelope("PreToolUse", input, { cwd: "/p" });
  expect(envelope).toMatchObject({ tool_command: "rm x", tool_kind: "shell", hook_event_name: "PreToolUse" });
  expect(envelope).not.toHaveProperty("tool_paths");
});

const entry = (selftest: unknown) => ({ type: "command", command: ["true"], selftest });
const problemsOf = (event: EventName, selftest: unknown) =>
  validateDeclaration({ [event]: [{ hooks: [entry(selftest)] }] }, "hooks.yaml").issues;

test.each([
  ["PreToolUse", [{ input: {}, expect: "block" }], ".selftest[0].expect"],
  ["PreToolUse", [{ input: "rm", expect: "deny" }], ".selftest[0].input"],
  ["PreToolUse", [{ expect: "deny" }], ".selftest[0].input"],
  ["PreToolUse", [{ input: {}, expect: "deny", expects: "deny" }], ".selftest[0].expects"],
  ["PreToolUse", [], ".selftest"],
  ["PreToolUse", [{ event: "Stop", input: {}, expect: "deny" }], ".selftest[0].event"],
  ["PreToolUse", [{ event: "Nope", input: {}, expect: "deny" }], ".selftest[0].event"],
  ["SessionStart", [{ input: {}, expect: "deny" }], ".selftest[0].expect"],
  ["Stop", [{ input: {}, expect: "rewrite" }], ".selftest[0].expect"],
  ["PreToolUse", [{ input: { tool_command: "rm" }, expect: "deny" }], ".selftest[0].input.tool_command"],
  ["PreToolUse", [{ input: { tool_input: "rm" }, expect: "deny" }], ".selftest[0].input.tool_input"],
  ["PreToolUse", [{ input: { tool_input: { url: "x" } }, expect: "deny" }], ".selftest[0].input.tool_name"],
  ["Stop", [{ input: { hook_event_name: "x" }, expect: "deny" }], ".selftest[0].input.hook_event_name"],
] as const)("a self-test of %s that says %j is refused at its place", (event, selftest, at) => {
  const issues = problemsOf(event, selftest);
  expect(issues.map(({ path }) => path)).toEqual([`hooks.yaml: ${event}[0].hooks[0]${at}`]);
  expect(issues[0]?.code).toBe("declaration_invalid");
  expect(issues[0]?.message).not.toBe("");
});

test.each([
  ["PreToolUse", [{ input: { tool_input: { command: "rm" } }, expect: "deny" }]],
  ["PreToolUse", [{ event: "PreToolUse", input: {}, expect: "rewrite" }]],
  ["SessionStart", [{ input: {}, expect: "context" }]],
  ["agent_exit", [{ input: { outcome: "failed" }, expect: "allow" }]],
] as const)("a self-test of %s that says %j is fine", (event, selftest) => {
  expect(problemsOf(event, selftest)).toEqual([]);
});
