// What is rendered in the place of a form that this binary does not honour, and what explain says of it.

import { describe, expect, test } from "vitest";
import type { HookPlan } from "../../src/compiler/plan.ts";
import { adapterFor } from "../../src/render/registry.ts";
import { hasSubagents, listStricterForms } from "../../src/render/stricter-forms.ts";
import { makeContext, makePlan } from "./support.ts";

const withoutAgents = (plan: HookPlan): HookPlan => ({
  ...plan,
  downgrades: [{ name: "subagents-off", because: ["subagent-call-guarded"] }],
});

describe("subagents", () => {
  test.each([
    ["claude", "--disallowedTools=Agent,Task"],
    ["codex", "agents.enabled=false"],
  ] as const)("of %s are off where the proof says so, and where the caller says so", (provider, word) => {
    const plan = makePlan(provider);
    const argvOf = (it: HookPlan, subagents?: boolean) => {
      const context = makeContext();
      const options = { ...context.options, ...(subagents === undefined ? {} : { subagents }) };
      return adapterFor(provider).materialise(it, { ...context, options }).argv;
    };
    expect(argvOf(plan)).not.toContain(word);
    expect(argvOf(plan, true)).not.toContain(word);
    expect(argvOf(plan, false)).toContain(word);
    expect(argvOf(withoutAgents(plan))).toContain(word);
    expect(argvOf(withoutAgents(plan), true)).toContain(word);
  });

  test("stay where neither says so", () => {
    expect(hasSubagents(makePlan("claude"), { cwd: "/" })).toBe(true);
  });
});

describe("stricter forms", () => {
  const namesOf = (plan: HookPlan, interactiveShell = false) =>
    listStricterForms(plan, { cwd: "/", interactiveShell }).map(({ name }) => name);

  test("name what the proof does not hold", () => {
    const [form] = listStricterForms(withoutAgents(makePlan("claude")), { cwd: "/" });
    expect(form).toMatchObject({
      name: "subagents-off",
      why: expect.stringContaining("subagent-call-guarded"),
    });
  });

  test("of codex: no hosted search under a tool guard", () => {
    expect(namesOf({ ...makePlan("codex"), events: ["PreToolUse"] })).toEqual(["web-search-off"]);
    expect(namesOf({ ...makePlan("codex"), events: ["SessionEnd"] })).toEqual([]);
    expect(namesOf({ ...makePlan("claude"), events: ["PreToolUse"] })).toEqual([]);
  });
});
