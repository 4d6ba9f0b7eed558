// What a run can show for its guards: the canary, the counts of each event, and what is never asked about and so must not be there.

import { describe, expect, it } from "vitest";
import type { HookDeclaration } from "../src/index.ts";
import type { ModelServer } from "../src/prove/loopback-server.ts";
import type { ToolUse } from "../src/prove/script.ts";
import { findShim, killHandler } from "./support/cut-hook.ts";
import {
  ALL,
  BOTH,
  CLAUDE,
  CODEX,
  CODEX_CODE_MODE,
  NO_GUARD,
  runGuarded,
  type Site,
  shell,
  touch,
} from "./support/harness.ts";

const GUARD: HookDeclaration = {
  PreToolUse: [{ hooks: [{ type: "function", name: "admits", handler: () => undefined }] }],
};

describe.each(ALL)("$mode: an honest run", (column) => {
  it("shows its canary, and each call asked and answered in time", async () => {
    const { result, receipts, events } = await runGuarded({
      column,
      declaration: () => GUARD,
      script: () => [{ tools: [shell("true"), shell("true # 2")] }, { tools: [shell("true # 3")] }],
    });
    const row = { rendered: true, transport: "shim", preflighted: true, late: 0, never: 0 };
    expect(result.outcome).toBe("success");
    expect(result.attestation).toEqual({
      canary: "came",
      events: [
        { event: "SessionStart", ...row, fired: 1, answered: 1 },
        { event: "PreToolUse", ...row, fired: 3, answered: 3 },
      ],
    });
    expect(receipts).toContainEqual(expect.objectContaining({ kind: "attested", ...result.attestation }));
    // The three calls, agent_prompt and agent_exit: the canary is no hook of the user's.
    expect(result.hooks.fired).toBe(5);
    expect(events.filter((event) => event.type === "hook" && event.event === "SessionStart")).toEqual([]);
  });
});

describe.each(BOTH)("$mode: the canary", (column) => {
  it("comes again when a session is resumed, and old calls are not held against the new run", async () => {
    const spec = {
      column,
      declaration: () => GUARD,
      script: () => [
        { tools: [shell("true")] },
        { tools: [{ kind: "agent", prompt: "go", script: [{ tools: [shell("true # sub")] }] } as ToolUse] },
      ],
    };
    const first = await runGuarded({ ...spec, options: () => ({ keepSession: true }) });
    const resume = first.result.providerSessionId as string;
    const second = await runGuarded({ ...spec, site: first.site, options: () => ({ resume }) });
    expect(second.result).toMatchObject({ outcome: "success", attestation: { canary: "came" } });
  });

  it("is not asked for when the agent fires nothing", async () => {
    const { result } = await runGuarded({ column, declaration: () => NO_GUARD, script: () => [{}] });
    expect(result).toMatchObject({ outcome: "success", attestation: { canary: "none", events: [] } });
  });
});

/** A canary whose shell is killed before it has its answer. */
const cutCanary = (site: Site): HookDeclaration => ({
  ...GUARD,
  SessionStart: [
    {
      hooks: [
        {
          type: "function",
          name: "cuts itself off",
          handler: async () => {
            await killHandler(findShim(site, "SessionStart"));
            return undefined;
          },
        },
      ],
    },
  ],
});

it("claude: without the canary no prompt is handed over", async () => {
  const { refusal, server } = await runGuarded({
    column: CLAUDE,
    declaration: cutCanary,
    script: () => [{ tools: [shell("true")] }],
    options: () => ({ deadlines: { attestMs: 10_000 } }),
  });
  expect(refusal?.issues).toMatchObject([{ code: "attestation_failed", path: "canary" }]);
  expect(server.modelCalls).toBe(0);
});

it.each([CODEX, CODEX_CODE_MODE])(
  "$mode: without the canary the first sign of work ends the run",
  async (column) => {
    const { result, site } = await runGuarded({
      column,
      declaration: cutCanary,
      script: (place) => [
        { tools: [shell("sleep 1")] },
        { tools: [touch(place, "after")], fault: { kind: "hang" } },
      ],
    });
    expect(result.outcome).toBe("unenforced");
    expect(result.reason).toMatch(/^canary: /);
    expect(result.attestation.canary).toBe("missing");
    expect(site.has("after")).toBe(false);
  },
);

describe.each([CODEX, CODEX_CODE_MODE])("$mode: a process that runs already", (column) => {
  /** Starts a shell in a terminal, then types into it. */
  const typing = (tty: boolean) => {
    let server: ModelServer | undefined;
    const session = () => {
      const told = [...(server?.toolResults().values() ?? [])].join("\n");
      return Number(/session(?: ID |_id\\*":)(\d+)/.exec(told)?.[1] ?? 0);
    };
    return {
      column,
      onRun: (_run: unknown, started: ModelServer) => {
        server = started;
      },
      script: ({ at }: { at: (name: string) => string }) => [
        {
          tools: [
            {
              kind: "raw" as const,
              name: "exec_command",
              input: { cmd: tty ? "bash" : "cat | sh; sleep 3", yield_time_ms: 500, tty },
            },
          ],
        },
        {
          tools: [
            {
              kind: "raw" as const,
              name: "write_stdin",
              // Read when the step is asked for: by then the session's number is known.
              get input() {
                return { session_id: session(), chars: `touch '${at("typed")}'\n`, yield_time_ms: 500 };
              },
            },
          ],
        },
        { tools: [shell("sleep 0.3")] },
      ],
    };
  };

  it("can be typed into without a guard", async () => {
    const { site } = await runGuarded({ ...typing(true), declaration: () => NO_GUARD });
    expect(site.has("typed")).toBe(true);
  });

  it.each([true, false])(
    "cannot be typed into under a shell guard (asked for a terminal: %s)",
    async (tty) => {
      const { site, result } = await runGuarded({ ...typing(tty), declaration: () => GUARD });
      expect(site.has("typed")).toBe(false);
      expect(result.outcome).toBe("success");
      expect(result.warnings).toContainEqual(expect.objectContaining({ code: "hole_write_stdin" }));
    },
  );

  it("can when the caller admits it, and that is a warning", async () => {
    const { site, result } = await runGuarded({
      ...typing(true),
      declaration: () => GUARD,
      options: () => ({ admit: { interactiveShell: true } }),
    });
    expect(site.has("typed")).toBe(true);
    expect(result.outcome).toBe("success");
    // A code-mode cell's own calls leave no record of what they typed.
    const seen = result.warnings.some(({ code }) => code === "interactive_shell");
    expect(seen).toBe(column === CODEX);
  });
});
