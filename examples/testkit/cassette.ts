// A run is recorded once and replayed in tests: no agent, no fake, no process.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentRun, compileAgentHooks, spawnAgent } from "agent-bridle";
import { createFakeProvider, recordRun, replayRun } from "agent-bridle/testkit";

/** What is tested: it takes any run, and stops one that has said enough. */
async function firstWords(run: AgentRun): Promise<string[]> {
  const words: string[] = [];
  for await (const event of run) {
    if (event.type === "message") words.push(event.text);
    if (words.length === 2) void run.stop("enough");
  }
  return words;
}

const cwd = await mkdtemp(join(tmpdir(), "cassette-"));
const cassette = join(cwd, "run.jsonl");

// Recorded once; here from a fake, in life from the real agent.
const { binary } = await createFakeProvider({
  provider: "claude",
  script: { steps: [{ text: "one" }, { text: "two" }, { text: "three" }] },
  directory: join(cwd, "fakes"),
});
const hooks = await compileAgentHooks(
  { PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
  { provider: "claude", cwd, binary, prove: "off" },
);
const recorded = recordRun(
  await spawnAgent({ hooks, prompt: "Count", cwd, receiptSink: () => {} }),
  cassette,
);
assert.equal((await recorded.result).finalText, "three");

// Replayed as often as there are tests.
const replayed = replayRun(cassette);
assert.deepEqual(await firstWords(replayed), ["one", "two"]);
assert.deepEqual((await replayed.result).reason, "enough");
await rm(cwd, { recursive: true });
