// One agent under two hooks: a guard in this process, and a record of how the run ended.
// From a clone: npm run build, then  node examples/guarded-run.ts codex "List the files here"
// Node 22.18 or later runs this file as it stands; on Node 20 use: npx tsx examples/guarded-run.ts …
// It needs the provider's CLI on PATH and its login, because it runs the real agent.

import { AgentHooksRefused, compileAgentHooks, type HookDeclaration, spawnAgent } from "agent-bridle";

const [provider = "codex", prompt = "List the files here."] = process.argv.slice(2);
if (provider !== "claude" && provider !== "codex")
  throw new Error("usage: guarded-run.ts claude|codex [prompt]");

const declaration: HookDeclaration = {
  PreToolUse: [
    {
      matcher: "kind:shell",
      hooks: [
        {
          type: "function",
          name: "no-deleting",
          timeout: 5,
          handler: ({ tool_command: command }) => {
            if (!/\brm\b|-delete\b/.test(String(command ?? ""))) return undefined;
            return {
              hookSpecificOutput: {
                hookEventName: "PreToolUse",
                permissionDecision: "deny",
                permissionDecisionReason: "deleting files is not allowed in this project",
              },
            };
          },
        },
      ],
    },
  ],
  agent_exit: [
    {
      hooks: [
        {
          type: "function",
          name: "report",
          handler: ({ outcome, reason }) => {
            console.log(`agent_exit: ${String(outcome)} (${String(reason)})`);
            return undefined;
          },
        },
      ],
    },
  ],
};

try {
  const hooks = await compileAgentHooks(declaration, { provider, cwd: process.cwd() });
  await using run = await spawnAgent({ hooks, prompt, cwd: process.cwd() });
  for await (const event of run) {
    if (event.type === "message") console.log(event.text);
    if (event.type === "hook") console.log(`hook ${event.event}: ${event.decision}`);
  }
  const { outcome, hooks: counts, receiptPath } = await run.result;
  console.log(`${outcome}: ${counts.ran} hook run(s), ${counts.denied} denied; receipts in ${receiptPath}`);
  process.exitCode = outcome === "success" ? 0 : 1;
} catch (error) {
  if (!(error instanceof AgentHooksRefused)) throw error;
  for (const { code, path, message, hint } of error.issues)
    console.error(`${code} ${path}: ${message} ${hint}`);
  process.exitCode = 78;
}
