// Many verdicts to one: what adds up, what sticks, and what takes all else back.

import { describe, expect, test } from "vitest";
import { createVerdictFold } from "../../src/broker/verdict-fold.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import type { Verdict } from "../../src/profile/verdict.ts";
import { SHELL_CALL } from "./chain-support.ts";

const envelope: Envelope = { ...SHELL_CALL, tool_kind: "shell", tool_command: "ls", tool_paths: ["/a"] };

function fold(...verdicts: Verdict[]): Verdict {
  const folded = createVerdictFold(envelope);
  for (const verdict of verdicts) folded.add(verdict);
  return folded.verdict;
}

const none: Verdict = { decision: "none" };
const allow: Verdict = { decision: "allow" };
const rewrite = (grants: boolean): Verdict => ({ decision: "rewrite", updatedInput: { n: 1 }, grants });

describe("denials", () => {
  test("the first one stands, and takes back what was said before and after", () => {
    const deny = (reason: string): Verdict => ({ decision: "deny", reason });
    expect(fold(rewrite(true), { decision: "allow", context: "c" }, deny("one"), deny("two"), allow)).toEqual(
      deny("one"),
    );
    const folded = createVerdictFold(envelope);
    folded.add(deny("one"));
    folded.add(rewrite(true));
    expect(folded.denied).toBe(true);
    expect(folded.envelope).toBe(envelope);
  });
});

describe("what sticks", () => {
  test("an allow, with none behind it", () => {
    expect(fold(allow, none)).toEqual(allow);
    expect(fold(none, allow)).toEqual(allow);
  });

  test("suppression and retry, with none behind them", () => {
    expect(fold({ decision: "none", suppress: true }, none)).toEqual({ decision: "none", suppress: true });
    expect(fold({ decision: "none", retry: true }, none)).toEqual({ decision: "none", retry: true });
  });

  test("context and suppression, whatever is decided", () => {
    const more = { context: "c", suppress: true } as const;
    expect(fold({ decision: "none", ...more }, allow)).toEqual({ decision: "allow", ...more });
    expect(fold({ decision: "none", ...more }, rewrite(true))).toEqual({ ...rewrite(true), ...more });
    expect(
      fold(
        { decision: "allow", context: "a" },
        { decision: "rewrite", updatedInput: { n: 1 }, grants: true, context: "b" },
      ),
    ).toMatchObject({
      decision: "rewrite",
      context: "a\n\nb",
    });
  });

  test("an empty context is none", () => {
    expect(fold({ decision: "none", context: "" }, { decision: "none", context: "c" })).toEqual({
      decision: "none",
      context: "c",
    });
    expect(fold({ decision: "none", context: "" })).toEqual(none);
  });
});

describe("rewrites", () => {
  test("the last one runs, and an allow beside it does not hide it", () => {
    expect(fold(allow, rewrite(false))).toEqual(rewrite(false));
    expect(fold(rewrite(false), allow)).toEqual(rewrite(false));
    expect(fold(rewrite(true), { decision: "rewrite", updatedInput: { n: 2 }, grants: true })).toEqual({
      decision: "rewrite",
      updatedInput: { n: 2 },
      grants: true,
    });
  });

  test("grant only when every one grants, in any order", () => {
    expect(fold(rewrite(false), rewrite(true))).toMatchObject({ grants: false });
    expect(fold(rewrite(true), rewrite(false))).toMatchObject({ grants: false });
    expect(fold(rewrite(true), rewrite(true))).toMatchObject({ grants: true });
  });

  test("what was told of the old input is told anew, or no more", () => {
    const folded = createVerdictFold(envelope);
    folded.add({ decision: "rewrite", updatedInput: { file_path: "/b" }, grants: false });
    expect(folded.envelope).toMatchObject({ tool_input: { file_path: "/b" }, tool_kind: "shell" });
    expect(folded.envelope).not.toHaveProperty("tool_command");
    expect(folded.envelope.tool_paths).toEqual(["/b"]);
    folded.add({ decision: "rewrite", updatedInput: {}, grants: false });
    expect(folded.envelope).not.toHaveProperty("tool_paths");
    expect(envelope).toMatchObject({ tool_input: { command: "ls" }, tool_command: "ls", tool_paths: ["/a"] });
  });

  test("of a tool that nothing can be told of leave what was told", () => {
    const { provider: _provider, ...unknown } = envelope;
    const folded = createVerdictFold(unknown);
    folded.add(rewrite(false));
    expect(folded.envelope).toEqual({ ...unknown, tool_input: { n: 1 } });
  });

  test("of a model call replace its request, and describe no tool", () => {
    const call: Envelope = {
      session_id: "s",
      cwd: "/",
      hook_event_name: "PreModelCall",
      harness: "lionagi",
      profile: "v1",
      run_id: "r",
      model_request: { messages: [] },
    };
    const folded = createVerdictFold(call, () => ({ tool_kind: "shell" }));
    folded.add({ decision: "rewrite", updatedInput: { messages: ["m"] }, grants: false });
    expect(folded.envelope).toEqual({ ...call, model_request: { messages: ["m"] } });
  });
});
