// Decisions of function handlers, and what links a run's result to what its hooks saw. What a command answers is in
// `matrix/30-decisions.yaml`.

import { describe, expect, it } from "vitest";
import { ENVELOPE_SCHEMAS, type Envelope, type EventName, type HookDeclaration } from "../src/index.ts";
import {
  ALL,
  BOTH,
  leftRunDirectories,
  runGuarded,
  runUnguarded,
  type Site,
  touch,
} from "./support/harness.ts";

const touchOne = (site: Site) => [{ tools: [touch(site, "happened.txt", "call_guarded")] }];

const answers = (event: EventName, answer: () => object): HookDeclaration => ({
  [event]: [{ hooks: [{ type: "function", name: "answers", handler: () => answer() as never }] }],
});

describe.each(ALL)("$mode: a function handler", (column) => {
  it("is needed: without it the call runs", async () => {
    const control = await runUnguarded({ column, script: touchOne });
    expect(control.site.has("happened.txt")).toBe(true);
  });

  it("denies like a command", async () => {
    const hookSpecificOutput = {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: "said by a function",
    };
    const declaration = () => answers("PreToolUse", () => ({ hookSpecificOutput }));
    const run = await runGuarded({ column, script: touchOne, declaration });
    expect(run.site.has("happened.txt")).toBe(false);
    expect(run.told()).toContain("said by a function");
  });

  it("that throws denies", async () => {
    const declaration = () =>
      answers("PreToolUse", () => {
        throw new Error("thrown by the handler");
      });
    const run = await runGuarded({ column, script: touchOne, declaration });
    expect(run.site.has("happened.txt")).toBe(false);
    expect(run.result.hooks).toMatchObject({ denied: 1, failed: 1 });
  });
});

describe.each(BOTH)("$mode: a run", (column) => {
  it("that agent_prompt vetoes leaves nothing behind, and agent_exit does not fire", async () => {
    const exits: string[] = [];
    const run = await runGuarded({
      column,
      script: touchOne,
      declaration: () => ({
        ...answers("agent_prompt", () => ({ decision: "block", reason: "VETO" })),
        agent_exit: [
          { hooks: [{ type: "function", handler: (envelope) => void exits.push(String(envelope.outcome)) }] },
        ],
      }),
    });
    expect(run.refusal?.issues).toMatchObject([
      { code: "prompt_denied", message: expect.stringContaining("VETO") },
    ]);
    expect(run.server.requests).toEqual([]);
    expect(leftRunDirectories(run.site)).toEqual([]);
    expect(run.receipts).toEqual([]);
    expect(exits).toEqual([]);
  });

  it("gives its hooks the ids of its result", async () => {
    const seen: Envelope[] = [];
    const watch = [
      { hooks: [{ type: "function" as const, handler: (envelope: Envelope) => void seen.push(envelope) }] },
    ];
    const run = await runGuarded({
      column,
      script: touchOne,
      declaration: () => ({ PreToolUse: watch, Stop: watch, agent_exit: watch }),
    });
    const { runId, sessionId, providerSessionId } = run.result;
    const ids = { run_id: runId, session_id: sessionId, provider: column.provider };
    const own = { ...ids, provider_session_id: providerSessionId };
    expect(seen).toMatchObject([
      { hook_event_name: "PreToolUse", ...own },
      { hook_event_name: "Stop", ...own },
      { hook_event_name: "agent_exit", ...ids, outcome: "success" },
    ]);
    for (const envelope of seen) {
      const { error } = ENVELOPE_SCHEMAS[envelope.hook_event_name as EventName].safeParse(envelope);
      expect(error?.message).toBeUndefined();
    }
    expect(leftRunDirectories(run.site)).toEqual([]);
  });
});
