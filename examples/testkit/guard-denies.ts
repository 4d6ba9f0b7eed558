// The guard denies a call, and the command of the call is not run.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileAgentHooks, spawnAgent } from "agent-bridle";
import { createFakeProvider } from "agent-bridle/testkit";

const cwd = await mkdtemp(join(tmpdir(), "guard-denies-"));
const { binary } = await createFakeProvider({
  provider: "codex",
  script: { steps: [{ tools: [{ shell: "touch a" }, { shell: "touch b" }] }, { text: "done" }] },
  directory: join(cwd, "fakes"),
});
const hooks = await compileAgentHooks(
  {
    PreToolUse: [
      {
        matcher: "kind:shell",
        hooks: [
          {
            type: "function",
            handler: ({ tool_command: command }) =>
              command === "touch a"
                ? {
                    hookSpecificOutput: {
                      permissionDecision: "deny",
                      permissionDecisionReason: "no a today",
                    },
                  }
                : undefined,
          },
        ],
      },
    ],
  },
  { provider: "codex", cwd, binary, prove: "off" },
);

const denied: unknown[] = [];
const run = await spawnAgent({ hooks, prompt: "Make a and b", cwd, receiptSink: () => {} });
for await (const event of run) {
  if (event.type === "hook" && event.decision === "deny") denied.push(event.reason);
}
const { outcome, finalText } = await run.result;

assert.deepEqual(
  { outcome, finalText, denied },
  { outcome: "success", finalText: "done", denied: ["no a today"] },
);
assert.deepEqual([existsSync(join(cwd, "a")), existsSync(join(cwd, "b"))], [false, true]);
await rm(cwd, { recursive: true });
