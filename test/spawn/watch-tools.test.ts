import { describe, expect, it } from "vitest";
import type { HookPlan } from "../../src/compiler/plan.ts";
import type { AgentEventBody } from "../../src/spawn/events.ts";
import { watchTools } from "../../src/spawn/watch-tools.ts";

function watched({
  ids = [],
  working = 0,
  events = ["PreToolUse"],
  change,
  isCanaryMissing = false,
  isCallbackMissing = false,
}: {
  isCanaryMissing?: boolean;
  isCallbackMissing?: boolean;
  ids?: string[];
  working?: number;
  events?: string[];
  change?: string;
} = {}) {
  const causes: string[] = [];
  const listener = watchTools({
    plan: { events } as unknown as HookPlan,
    ledger: { isAdmitted: (id) => ids.includes(id), working, end: () => {} },
    attestation: { isCanaryMissing, isCallbackMissing },
    receipts: { write: () => {} },
    changedQuickly: () => (change === undefined ? [] : [change]),
    end: (cause) => causes.push(cause.kind === "unenforced" ? cause.reason : cause.kind),
  });
  return { listener, causes };
}
const ran = (id: string): AgentEventBody => ({
  type: "tool_result",
  id,
  denied: false,
  ran: true,
  isError: false,
  output: "",
});
const started = (name: string): AgentEventBody => ({
  type: "tool_call",
  id: "item_0",
  name,
  input: {},
  started: true,
});

describe("a tool that ran past its guard ends the run", () => {
  it("by id, when no admitting verdict names it", () => {
    const { listener, causes } = watched({ ids: ["a"] });
    listener(ran("a"));
    expect(causes).toEqual([]);
    listener(ran("b"));
    expect(causes).toEqual(["unasked: tool call b ran without an admitting PreToolUse verdict"]);
  });

  it("by count, when the provider shows no call ids", () => {
    const { listener, causes } = watched({ working: 1 });
    listener(started("command_execution"));
    expect(causes).toEqual([]);
    listener(started("file_change"));
    expect(causes).toHaveLength(1);
  });

  it("when the run directory changed, whatever was declared", () => {
    const { listener, causes } = watched({ events: [], change: "s/shim has other bytes" });
    listener(started("command_execution"));
    expect(causes).toEqual(["tampered: s/shim has other bytes"]);
  });

  it.each<AgentEventBody>([
    started("command_execution"),
    ran("a"),
    { type: "message", role: "assistant", text: "hello" },
  ])("when the agent works before the canary came: %j", (event) => {
    const { listener, causes } = watched({ isCanaryMissing: true, ids: ["a"], working: 1 });
    listener(event);
    expect(causes).toEqual([`canary: ${event.type} before the SessionStart hook reached the broker`]);
  });

  it("when it calls a tool before any callback came, and not when it only speaks", () => {
    const { listener, causes } = watched({ isCallbackMissing: true });
    listener({ type: "message", role: "assistant", text: "compacted" });
    expect(causes).toEqual([]);
    listener({ type: "tool_call", id: "t", name: "Bash", input: {} });
    expect(causes).toEqual(["canary: tool_call before any callback came over the agent's own pipes"]);
  });

  it("not when it only names its session before that", () => {
    const { listener, causes } = watched({ isCanaryMissing: true });
    listener({ type: "session", providerSessionId: "s" });
    listener({ type: "warning", code: "provider_warning", message: "m" });
    expect(causes).toEqual([]);
  });

  it("once: the first evidence is the one reported", () => {
    const { listener, causes } = watched();
    listener(ran("a"));
    listener(ran("b"));
    expect(causes).toHaveLength(1);
  });
});

describe("nothing is held against a call that", () => {
  it("was denied, or never ran", () => {
    const { listener, causes } = watched();
    listener({ type: "tool_result", id: "a", denied: true, ran: false, isError: true, output: "" });
    listener({
      type: "tool_result",
      id: "b",
      denied: false,
      ran: false,
      isError: true,
      output: "no such tool",
    });
    expect(causes).toEqual([]);
  });

  it("no PreToolUse guard was declared for", () => {
    const { listener, causes } = watched({ events: ["Stop"] });
    listener(ran("a"));
    listener(started("command_execution"));
    expect(causes).toEqual([]);
  });

  it("is no work of the agent's own: a subagent, a search", () => {
    const { listener, causes } = watched();
    listener(started("collab_tool_call"));
    expect(causes).toEqual([]);
  });
});
