// Secrets stay where they were put: not on any command line of the run, not in the environment of anyone but whom they were meant
// for, not in receipts, events, results or errors.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentRun } from "../src/index.ts";
import {
  BOTH,
  CLAUDE,
  type Column,
  type GuardedCase,
  type ProcessView,
  processesWith,
  runGuarded,
  shell,
} from "./support/harness.ts";

const SECRETS = {
  apiKey: "planted-api-key-1f0c9a7e5b",
  passed: "planted-passed-token-2f0c9a7e5b",
  added: "planted-added-token-3f0c9a7e5b",
  header: "planted-header-4f0c9a7e5b",
  serverEnv: "planted-server-env-5f0c9a7e5b",
  entryEnv: "planted-entry-env-6f0c9a7e5b",
  listed: "planted-listed-7f0c9a7e5b",
} as const;

/** Names of the variables that may carry each secret, in any process of the run. */
const MAY_CARRY: Record<keyof typeof SECRETS, readonly string[]> = {
  apiKey: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
  passed: ["PASSED_TOKEN"],
  added: ["ADDED_TOKEN"],
  header: [],
  serverEnv: ["SERVER_TOKEN"],
  entryEnv: ["GUARD_TOKEN"],
  listed: [],
};

const server = join(import.meta.dirname, "matrix", "touch-mcp-server.mjs");

function plantedCase(column: Column, onRun: (run: AgentRun) => void): GuardedCase {
  return {
    column,
    apiKey: SECRETS.apiKey,
    // The model, the guard and the prompt all say secrets aloud: what Bridle writes must not repeat them.
    prompt: `mind ${SECRETS.passed} and ${SECRETS.listed}`,
    script: () => [{ text: `I know ${SECRETS.added}`, tools: [shell("sleep 1.5", "call_slow")] }],
    declaration: (site) => ({
      PreToolUse: [
        {
          hooks: [
            {
              type: "command",
              command: site.guard(`cat >/dev/null; echo "chatter with $GUARD_TOKEN"; sleep 0.4`),
              env: { GUARD_TOKEN: SECRETS.entryEnv },
            },
          ],
        },
      ],
      PostToolUse: [
        {
          hooks: [
            {
              type: "command",
              command: site.guard(`echo '${Object.values(SECRETS).join(" ")}' >&2; exit 1`, "after.sh"),
            },
          ],
        },
      ],
    }),
    options: (site) => ({
      env: { ADDED_TOKEN: SECRETS.added },
      passEnv: ["PASSED_TOKEN"],
      secrets: [SECRETS.listed],
      mcpServers: {
        local: { command: process.execPath, args: [server], env: { SERVER_TOKEN: SECRETS.serverEnv } },
        remote: {
          ...(column === CLAUDE ? { type: "http" } : {}),
          url: "http://127.0.0.1:9/mcp",
          headers: { Authorization: `Bearer ${SECRETS.header}` },
        },
      },
      receiptsDir: join(site.state, "receipts"),
    }),
    baseEnv: () => ({ PASSED_TOKEN: SECRETS.passed, NOT_PASSED_TOKEN: "planted-not-passed-8f0c9a7e5b" }),
    onRun,
  };
}

describe.each(BOTH)("$mode: planted secrets", (column) => {
  it.runIf(existsSync("/proc/self/environ"))(
    "stay out of argv, environments and all that is written",
    async () => {
      const views = new Map<string, ProcessView>();
      let timer: NodeJS.Timeout | undefined;
      const look = (run: AgentRun) => {
        timer = setInterval(() => {
          for (const view of processesWith(run.id)) views.set(`${view.pid} ${view.cmdline}`, view);
        }, 40);
      };
      const run = await runGuarded(plantedCase(column, look));
      clearInterval(timer);
      const seen = [...views.values()];
      expect(run.result.outcome).toBe("success");
      // The agent, its tool's sleep, the MCP server and the guard were all looked at.
      for (const word of [column.provider, "sleep\u00001.5", "touch-mcp-server", "guard.sh"])
        expect(
          seen.some(({ cmdline }) => cmdline.includes(word)),
          word,
        ).toBe(true);

      for (const [name, secret] of Object.entries(SECRETS)) {
        const may = MAY_CARRY[name as keyof typeof SECRETS];
        for (const { cmdline, environ } of seen) {
          expect(cmdline).not.toContain(secret);
          const carriers = environ.split("\0").filter((entry) => entry.includes(secret));
          const names = carriers.map((entry) => entry.slice(0, entry.indexOf("=")));
          expect(may, `${name} in ${cmdline.replaceAll("\0", " ")}`).toEqual(expect.arrayContaining(names));
        }
      }
      expect(seen.map(({ environ }) => environ).join("\n")).not.toContain("planted-not-passed");

      // Only the guard has the guard's secret, only the server the server's.
      const holders = (secret: string) => seen.filter(({ environ }) => environ.includes(secret));
      for (const { cmdline } of holders(SECRETS.serverEnv)) expect(cmdline).toContain("touch-mcp-server");
      for (const { cmdline } of holders(SECRETS.entryEnv)) expect(cmdline).toMatch(/guard\.sh|sleep\0|cat\0/);

      const receipts = JSON.stringify(run.receipts);
      const diagnostics = JSON.stringify(
        run.events.filter(({ type }) => type === "warning" || type === "hook" || type === "result"),
      );
      for (const secret of Object.values(SECRETS)) {
        expect(receipts).not.toContain(secret);
        expect(diagnostics).not.toContain(secret);
      }
      expect(receipts).toContain("chatter with");
    },
  );

  it("stay out of refusals", async () => {
    const spec = plantedCase(column, () => {});
    const declaration = () => ({
      agent_prompt: [
        {
          hooks: [
            {
              type: "function" as const,
              handler: () => ({
                decision: "block",
                reason: `no ${SECRETS.passed} ${SECRETS.added} ${SECRETS.apiKey} ${SECRETS.listed}`,
              }),
            },
          ],
        },
      ],
    });
    const run = await runGuarded({ ...spec, declaration });
    expect(run.refusal?.issues).toMatchObject([{ code: "prompt_denied" }]);
    const said = `${run.refusal?.message} ${run.refusal?.stack} ${JSON.stringify(run.refusal?.issues)}`;
    for (const secret of Object.values(SECRETS)) expect(said).not.toContain(secret);
  });
});
