import { expect, it } from "vitest";
import type { AgentEventBody } from "../../src/spawn/events.ts";
import { watchPrompt } from "../../src/spawn/watch-prompt.ts";

function start({ asked = true, denied = false, declared = true } = {}) {
  const state = { asked, denied };
  const told: string[] = [];
  const watch = watchPrompt({
    plan: { events: declared ? ["UserPromptSubmit"] : ["PreToolUse"] },
    attestation: { wasAsked: () => state.asked },
    runtime: {
      get isPromptDenied() {
        return state.denied;
      },
    },
    receipts: { write: () => {} },
    end: (cause) => told.push("reason" in cause ? `${cause.kind} ${cause.reason}` : cause.kind),
  });
  return { watch, told, state };
}

const MESSAGE: AgentEventBody = { type: "message", role: "assistant", text: "hi" };
const signs: AgentEventBody[] = [
  MESSAGE,
  { type: "thinking", text: "hm" },
  { type: "tool_call", name: "Bash", input: {} },
  { type: "tool_result", denied: false, isError: false, output: "" },
  { type: "usage", inputTokens: 1 },
  { type: "usage", outputTokens: 1 },
];

it.each(signs)("a gate that was not asked is told at the first $type", (sign) => {
  const { watch, told } = start({ asked: false });
  watch(sign);
  expect(told).toEqual([
    `unenforced never_asked: UserPromptSubmit was not asked, and the agent works (${sign.type})`,
  ]);
});

it.each(signs)("a denial that is not heeded is told at the first $type", (sign) => {
  const { watch, told } = start({ denied: true });
  watch(sign);
  expect(told).toEqual([
    `unenforced deny_ignored: UserPromptSubmit denied the prompt, and the agent works (${sign.type})`,
  ]);
});

it.each<AgentEventBody>([
  { type: "session", providerSessionId: "s" },
  { type: "usage", inputTokens: 0, outputTokens: 0 },
  { type: "warning", code: "prompt_blocked", message: "no" },
  { type: "raw", payload: {} },
])("a $type shows no work", (event) => {
  const { watch, told } = start({ asked: false });
  watch(event);
  expect(told).toEqual([]);
});

it("it is told once", () => {
  const { watch, told } = start({ asked: false });
  watch(MESSAGE);
  watch(MESSAGE);
  expect(told).toHaveLength(1);
});

it("a later prompt that is denied is not held against work that was under way", () => {
  const { watch, told, state } = start();
  watch(MESSAGE);
  state.denied = true;
  watch(MESSAGE);
  expect(told).toEqual([]);
});

it("without the gate in the declaration nothing is told", () => {
  const { watch, told } = start({ asked: false, declared: false });
  watch(MESSAGE);
  expect(told).toEqual([]);
});
