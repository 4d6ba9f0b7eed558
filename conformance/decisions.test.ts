// What a guard decides is what happens, on the real CLIs: each case beside a run of the same script without the guard.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ENVELOPE_SCHEMAS, type Envelope, type EventName, type HookDeclaration } from "../src/index.ts";
import { DENY, denyWhen, guardTools, onTools, printTool } from "./support/guards.ts";
import {
  ALL,
  BOTH,
  CLAUDE,
  leftRunDirectories,
  NO_GUARD,
  runGuarded,
  runUnguarded,
  type Site,
  shell,
  touch,
  write,
} from "./support/harness.ts";

const touchOne = (site: Site) => [{ tools: [touch(site, "happened.txt", "call_guarded")] }];
const writeOne = (site: Site) => [{ tools: [write(site, "written.txt")] }];

const answers = (event: EventName, answer: () => object): HookDeclaration => ({
  [event]: [{ hooks: [{ type: "function", name: "answers", handler: () => answer() as never }] }],
});

describe.each(ALL)("$mode: decisions", (column) => {
  it("runs what nobody guards", async () => {
    const control = await runUnguarded({
      column,
      script: (site) => [{ tools: [touch(site, "happened.txt"), write(site, "written.txt")] }],
    });
    expect(control.result.outcome).toBe("success");
    expect(control.site.has("happened.txt")).toBe(true);
    expect(control.site.has("written.txt")).toBe(true);
  });

  it("deny blocks a shell call and tells the model why", async () => {
    const run = await runGuarded({ column, script: touchOne, declaration: guardTools(DENY) });
    expect(run.site.has("happened.txt")).toBe(false);
    expect(run.told()).toContain("REASON-OF-THE-GUARD");
    expect(run.result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
  });

  it("deny blocks a file edit", async () => {
    const run = await runGuarded({
      column,
      script: writeOne,
      declaration: guardTools(DENY, {}, "kind:edit"),
    });
    expect(run.site.has("written.txt")).toBe(false);
    expect(run.told()).toContain("REASON-OF-THE-GUARD");
  });

  it("exit 2 blocks with the reason from stderr", async () => {
    const declaration = guardTools("echo said-on-stderr >&2; exit 2");
    const run = await runGuarded({ column, script: touchOne, declaration });
    expect(run.site.has("happened.txt")).toBe(false);
    expect(run.told()).toContain("said-on-stderr");
  });

  it("allow lets a call and an edit happen", async () => {
    const run = await runGuarded({
      column,
      script: (site) => [{ tools: [touch(site, "happened.txt")] }, { tools: [write(site, "written.txt")] }],
      declaration: guardTools(printTool({ permissionDecision: "allow" })),
    });
    expect(run.site.has("happened.txt")).toBe(true);
    expect(run.site.has("written.txt")).toBe(true);
    expect(run.result).toMatchObject({ outcome: "success", hooks: { denied: 0 } });
  });

  it("rewrite runs the rewritten command and not the original", async () => {
    const run = await runGuarded({
      column,
      script: touchOne,
      declaration: (site) => {
        const updatedInput = { command: `touch '${site.at("rewritten.txt")}'`, description: "rewritten" };
        return onTools({
          type: "function",
          handler: () => ({ hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput } }),
        });
      },
    });
    expect(run.site.has("rewritten.txt")).toBe(true);
    expect(run.site.has("happened.txt")).toBe(false);
  });

  it("a function handler denies like a command", async () => {
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

  it("a function handler that throws denies", async () => {
    const declaration = () =>
      answers("PreToolUse", () => {
        throw new Error("thrown by the handler");
      });
    const run = await runGuarded({ column, script: touchOne, declaration });
    expect(run.site.has("happened.txt")).toBe(false);
    expect(run.result.hooks).toMatchObject({ denied: 1, failed: 1 });
  });

  it("of two parallel calls, only the denied one does not run", async () => {
    const run = await runGuarded({
      column,
      script: (site) => [{ tools: [touch(site, "forbidden.txt"), touch(site, "fine.txt")] }],
      declaration: guardTools(denyWhen("forbidden")),
    });
    expect(run.site.has("forbidden.txt")).toBe(false);
    expect(run.site.has("fine.txt")).toBe(true);
    expect(run.server.modelCalls).toBe(2);
  });

  it("of 20 parallel calls, exactly the denied ones do not run", async () => {
    const names = Array.from(
      { length: 20 },
      (_, index) => `${index % 2 === 0 ? "forbidden" : "fine"}-${index}.txt`,
    );
    const run = await runGuarded({
      column,
      script: (site) => [{ tools: names.map((name) => touch(site, name)) }],
      declaration: guardTools(denyWhen("forbidden")),
    });
    expect(names.filter((name) => run.site.has(name))).toEqual(
      names.filter((name) => name.startsWith("fine")),
    );
    expect(run.result).toMatchObject({ outcome: "success", hooks: { denied: 10, failed: 0, late: 0 } });
  });

  const delegated = (site: Site) => [
    {
      tools: [
        {
          kind: "agent",
          prompt: "Help out.",
          script: [{ tools: [touch(site, "forbidden.txt")] }, { tools: [touch(site, "fine.txt")] }],
        } as const,
      ],
    },
  ];

  it("a subagent's call is guarded", async () => {
    const declaration = guardTools(denyWhen("forbidden"), {}, "kind:shell");
    const run = await runGuarded({ column, script: delegated, declaration });
    expect(run.site.has("forbidden.txt")).toBe(false);
    expect(run.site.has("fine.txt")).toBe(true);

    const control = await runUnguarded({ column, script: delegated });
    expect(control.site.has("forbidden.txt")).toBe(true);
  });

  it("context from PreToolUse reaches the model, and the call runs", async () => {
    const declaration = guardTools(printTool({ additionalContext: "CONTEXT-OF-PRE" }));
    const run = await runGuarded({ column, script: touchOne, declaration });
    expect(run.told()).toContain("CONTEXT-OF-PRE");
    expect(run.site.has("happened.txt")).toBe(true);
  });

  it("feedback of PostToolUse reaches the model", async () => {
    const declaration = () =>
      answers("PostToolUse", () => ({ decision: "block", reason: "FEEDBACK-OF-POST" }));
    const run = await runGuarded({ column, script: touchOne, declaration });
    expect(run.site.has("happened.txt")).toBe(true);
    expect(run.told()).toContain("FEEDBACK-OF-POST");
    expect(run.result.outcome).toBe("success");
  });
});

describe.each(BOTH)("$mode: the prompt", (column) => {
  it.each(["SessionStart", "UserPromptSubmit"] as const)(
    "context from %s reaches the model",
    async (event) => {
      const declaration = () =>
        answers(event, () => ({
          hookSpecificOutput: { hookEventName: event, additionalContext: `OF-${event}` },
        }));
      const run = await runGuarded({ column, script: touchOne, declaration });
      expect(run.told()).toContain(`OF-${event}`);
      expect(run.site.has("happened.txt")).toBe(true);
    },
  );

  it("plain text of UserPromptSubmit becomes context", async () => {
    const run = await runGuarded({
      column,
      script: () => [],
      declaration: (site) => ({
        UserPromptSubmit: [{ hooks: [{ type: "command", command: site.guard("echo PLAIN-WORDS") }] }],
      }),
    });
    expect(run.told()).toContain("PLAIN-WORDS");
  });

  it("a veto of agent_prompt starts nothing", async () => {
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
    expect(run.server.modelCalls).toBe(0);
    expect(run.server.requests).toEqual([]);
    expect(leftRunDirectories(run.site)).toEqual([]);
    expect(run.receipts).toEqual([]);
    expect(exits).toEqual([]);
  });

  it("context of agent_prompt follows the prompt", async () => {
    const declaration = () =>
      answers("agent_prompt", () => ({
        hookSpecificOutput: { hookEventName: "agent_prompt", additionalContext: "ADDED-BEHIND" },
      }));
    const run = await runGuarded({ column, script: () => [], declaration, prompt: "WHAT-WAS-ASKED" });
    const text = run.server.userTexts().find((said) => said.includes("WHAT-WAS-ASKED")) ?? "";
    expect(text.indexOf("ADDED-BEHIND")).toBeGreaterThan(text.indexOf("WHAT-WAS-ASKED"));
  });

  it("a block of UserPromptSubmit keeps the prompt from the model", async () => {
    const declaration = () => answers("UserPromptSubmit", () => ({ decision: "block", reason: "not this" }));
    const run = await runGuarded({ column, script: touchOne, declaration });
    expect(run.result.outcome).toBe("prompt_blocked");
    expect(run.server.modelCalls).toBe(0);
    expect(run.site.has("happened.txt")).toBe(false);
  });

  it("agent_exit fires once, with the outcome", async () => {
    const exits: Envelope[] = [];
    const run = await runGuarded({
      column,
      script: touchOne,
      declaration: () => ({
        agent_exit: [{ hooks: [{ type: "function", handler: (envelope) => void exits.push(envelope) }] }],
      }),
    });
    expect(exits).toMatchObject([{ outcome: "success", run_id: run.result.runId }]);
    expect(ENVELOPE_SCHEMAS.agent_exit.safeParse(exits[0]).error).toBeUndefined();
    expect(leftRunDirectories(run.site)).toEqual([]);
  });
});

describe.each(ALL)("$mode: envelopes", (column) => {
  it("hold what the profile promises, one line each", async () => {
    const events = [
      "SessionStart",
      "SessionEnd",
      "UserPromptSubmit",
      "PreToolUse",
      "PostToolUse",
      "Stop",
      "agent_prompt",
      "agent_exit",
    ] as const;
    const run = await runGuarded({
      column,
      script: (site) => [{ tools: [touch(site, "happened.txt")] }, { tools: [write(site, "written.txt")] }],
      declaration: (site) => {
        const command = site.guard('line=$(head -n 1)\nprintf "%s\\n" "$line" >> "$1/envelopes"');
        return Object.fromEntries(
          events.map((event) => [event, [{ hooks: [{ type: "command", command }] }]]),
        );
      },
    });
    expect(run.result.outcome).toBe("success");
    const seen = readFileSync(`${run.site.notes}/envelopes`, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Envelope);
    expect(new Set(seen.map((envelope) => envelope.hook_event_name))).toEqual(new Set(events));
    for (const envelope of seen) {
      const problem = ENVELOPE_SCHEMAS[envelope.hook_event_name as EventName].safeParse(envelope).error;
      expect(problem?.message, String(envelope.hook_event_name)).toBeUndefined();
      expect(envelope).toMatchObject({
        session_id: run.result.sessionId,
        run_id: run.result.runId,
        provider: column.provider,
      });
    }
    const before = seen.filter((envelope) => envelope.hook_event_name === "PreToolUse");
    expect(before).toMatchObject([
      { tool_kind: "shell", tool_command: expect.stringContaining("happened.txt") },
      { tool_kind: "edit", tool_paths: [run.site.at("written.txt")] },
    ]);
    expect(seen.find((envelope) => envelope.hook_event_name === "Stop")?.provider_session_id).toBe(
      run.result.providerSessionId,
    );
  });
});

describe("claude: allow does not widen", () => {
  const spec = { column: CLAUDE, script: touchOne, options: () => ({ allowedTools: [] }) };
  const allow = printTool({ permissionDecision: "allow" });

  it("leaves denied what no rule allows", async () => {
    const control = await runGuarded({ ...spec, declaration: () => NO_GUARD });
    expect(control.site.has("happened.txt")).toBe(false);
    const run = await runGuarded({ ...spec, declaration: guardTools(allow) });
    expect(run.site.has("happened.txt")).toBe(false);
    const notes = run.receipts.flatMap((line) => (line.kind === "hook" ? line.notes : []));
    expect(notes).toMatchObject([{ code: "allow_not_granted" }]);
  });

  it("grants when the entry says so", async () => {
    const run = await runGuarded({ ...spec, declaration: guardTools(allow, { grants: true }) });
    expect(run.site.has("happened.txt")).toBe(true);
  });

  it("a rewrite without grants does not run either", async () => {
    const rewrite = printTool({ updatedInput: { command: "touch rewritten.txt" } });
    const run = await runGuarded({ ...spec, declaration: guardTools(rewrite) });
    expect(run.site.has("rewritten.txt")).toBe(false);
  });

  it.each([
    { behavior: "allow", grants: true, runs: true },
    { behavior: "allow", grants: false, runs: false },
    { behavior: "deny", grants: true, runs: false },
  ])("PermissionRequest: $behavior with grants $grants", async ({ behavior, grants, runs }) => {
    const declaration = (): HookDeclaration => ({
      PermissionRequest: [
        {
          matcher: "kind:shell",
          hooks: [
            {
              type: "function",
              grants,
              handler: () => ({
                hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior } },
              }),
            },
          ],
        },
      ],
    });
    const run = await runGuarded({ ...spec, declaration });
    expect(run.site.has("happened.txt")).toBe(runs);
  });

  it("PostToolUseFailure tells the error, and its feedback reaches the model", async () => {
    const seen: Envelope[] = [];
    const run = await runGuarded({
      column: CLAUDE,
      script: () => [{ tools: [shell("echo it-broke >&2; exit 3")] }],
      declaration: () => ({
        PostToolUseFailure: [
          {
            hooks: [
              {
                type: "function",
                handler: (envelope) => {
                  seen.push(envelope);
                  return { decision: "block", reason: "FEEDBACK-OF-FAILURE" };
                },
              },
            ],
          },
        ],
      }),
    });
    expect(seen).toMatchObject([{ tool_response: { error: expect.stringContaining("it-broke") } }]);
    expect(ENVELOPE_SCHEMAS.PostToolUseFailure.safeParse(seen[0]).error).toBeUndefined();
    expect(run.told()).toContain("FEEDBACK-OF-FAILURE");
  });
});
