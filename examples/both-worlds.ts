// One declaration, two worlds: it guards a codex that is spawned, and a tool loop in this program, and decides the same in both.
// From a clone: npm run build, then  node examples/both-worlds.ts   (Node 22.18 or later; on Node 20: npx tsx examples/both-worlds.ts)
// The codex is the testkit's, so that no login is needed; pass the path of a real one, and it is asked instead.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileAgentHooks, type HookDeclaration, spawnAgent } from "agent-bridle";
import { compileHostHooks, createHookHost } from "agent-bridle/host";
import { createFakeProvider } from "agent-bridle/testkit";

const declaration: HookDeclaration = {
  PreToolUse: [
    {
      matcher: "kind:shell",
      hooks: [
        {
          type: "function",
          name: "no-touching",
          handler: ({ tool_command: command }) =>
            String(command).includes("touch")
              ? {
                  hookSpecificOutput: {
                    hookEventName: "PreToolUse",
                    permissionDecision: "deny",
                    permissionDecisionReason: "nothing is created here",
                  },
                }
              : undefined,
        },
      ],
    },
  ],
};

const cwd = await mkdtemp(join(tmpdir(), "both-worlds-"));
const [real] = process.argv.slice(2);
const script = { steps: [{ tools: [{ shell: "touch created-by-codex" }] }, { text: "done" }] };
const binary =
  real ?? (await createFakeProvider({ provider: "codex", script, directory: join(cwd, ".fakes") })).binary;

// The spawned one.
const spawned = await compileAgentHooks(declaration, {
  provider: "codex",
  cwd,
  binary,
  prove: real === undefined ? "off" : "auto",
});
const run = await spawnAgent({
  hooks: spawned,
  prompt: "Run: touch created-by-codex",
  cwd,
  receiptSink: () => {},
});
for await (const event of run)
  if (event.type === "hook" && event.decision === "deny") console.log(`codex: denied, ${event.reason}`);
await run.result;

// The loop in this program.
const host = createHookHost({ hooks: await compileHostHooks(declaration, { cwd }) });
host.tools.register({ name: "Bash", kind: "shell", run: () => "ran" });
const outcome = await host.tools.invoke("Bash", { command: "touch created-in-process" });
if (outcome.status === "denied") console.log(`in process: denied, ${outcome.reason}`);

console.log(`created: ${existsSync(join(cwd, "created-by-codex")) ? "something" : "nothing"}`);
await host.close();
await rm(cwd, { recursive: true });
