import { describe, expect, it } from "vitest";
import { type ProviderHookEvent, watchProviderHooks } from "../../src/spawn/watch-provider-hooks.ts";

function watched(event: Omit<ProviderHookEvent, "type">, wrong?: string, isEnding = false) {
  const causes: string[] = [];
  const receipts: unknown[] = [];
  watchProviderHooks({
    attestation: { checkEnd: () => wrong },
    receipts: { write: (line) => void receipts.push(line) },
    end: (cause) => causes.push(cause.kind === "unenforced" ? cause.reason : cause.kind),
    isEnding: () => isEnding,
  })({ type: "provider_hook", ...event });
  return { causes, receipts };
}

it("a hook that the agent ended because it was asked to stop is noted and ends nothing; a skipped one still does", () => {
  const killed = watched({ event: "PreToolUse", exitCode: 1 }, "without an answer", true);
  expect([killed.causes, killed.receipts.length]).toEqual([[], 1]);
  expect(watched({ event: "PreToolUse", noVerdict: true }, undefined, true).causes).toHaveLength(1);
  expect(watched({ event: "PreToolUse", exitCode: 0 }, "too often", true).causes).toHaveLength(1);
});

describe("the run ends when the provider reports", () => {
  it("a hook without a verdict, with the call and the evidence", () => {
    const { causes, receipts } = watched({
      event: "PreToolUse",
      noVerdict: true,
      toolUseId: "t1",
      evidence: "hook_callback_failed",
    });
    const detail =
      "the provider reports a PreToolUse hook without a verdict for tool call t1 (hook_callback_failed)";
    expect(causes).toEqual([`no_verdict: ${detail}`]);
    expect(receipts).toEqual([{ kind: "fault", event: "PreToolUse", fault: "no_verdict", detail }]);
  });

  it.each(["PreToolUse", "UserPromptSubmit", "Stop"])("a code of %s that was not given so often", (event) => {
    expect(watched({ event, exitCode: 0 }, "too often").causes).toEqual(["unanswered: too often"]);
  });

  it("a code that no handler of ours can give", () => {
    expect(watched({ event: "PostToolUse", exitCode: 1 }).causes).toEqual([
      "bad_exit: the provider reports exit 1 of a PostToolUse hook",
    ]);
    expect(watched({ event: "PostToolUse", exitCode: 1 }, "never given").causes).toEqual([
      "bad_exit: never given",
    ]);
  });
});

describe("the run goes on when the provider reports", () => {
  it.each<[string, Omit<ProviderHookEvent, "type">, string | undefined]>([
    ["a code that was given", { event: "PreToolUse", exitCode: 2 }, undefined],
    ["the start of a hook", { event: "PreToolUse" }, "too often"],
    ["other feedback that was lost", { event: "PostToolUse", exitCode: 0 }, "too often"],
    ["an event that only observes", { event: "SessionStart", exitCode: 1 }, "too often"],
    ["an event that is not ours", { event: "Setup", exitCode: 1 }, "too often"],
  ])("%s", (_what, event, wrong) => {
    expect(watched(event, wrong).causes).toEqual([]);
  });
});
