// A provider that makes a call without asking: the run ends as unenforced, and an orchestrator must not take its work.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileAgentHooks, spawnAgent } from "agent-bridle";
import { createFakeProvider } from "agent-bridle/testkit";

const cwd = await mkdtemp(join(tmpdir(), "skipped-hook-"));
const { binary } = await createFakeProvider({
  provider: "claude",
  script: { steps: [{ tools: [{ shell: "touch a", sins: ["skip-hook"] }] }, { text: "done" }] },
  directory: join(cwd, "fakes"),
});
const hooks = await compileAgentHooks(
  { PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
  { provider: "claude", cwd, binary, prove: "off" },
);

const run = await spawnAgent({ hooks, prompt: "Make a", cwd, receiptSink: () => {} });
const { outcome, reason } = await run.result;

assert.equal(outcome, "unenforced");
assert.match(reason, /ran without an admitting PreToolUse verdict/);
await rm(cwd, { recursive: true });
