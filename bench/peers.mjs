// Starting an agent: the time from the call until the agent's first event is delivered, for Bridle and for what else starts these CLIs from Node.
// All start the same small shell script, which answers at once, so that what is seen is the starting.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { codexAdapter } from "../dist/render/codex/index.js";
import { makeFakes } from "./fakes/fakes.mjs";
import { compare } from "./harness.mjs";

const PROMPT = "hello";
/** What each provider reads on stdin when nobody but the caller speaks to it. */
const INPUT = {
  claude: `${JSON.stringify({ type: "user", message: { role: "user", content: PROMPT } })}\n`,
  codex: PROMPT,
};
const FIRST = { claude: "system", codex: "thread.started" };

function checkFirst(provider, type) {
  if (type !== FIRST[provider]) throw new Error(`the first event of ${provider} is ${type}`);
}

/** From the call to the first line as JSON; the process is waited for, outside of what is measured. */
async function firstLine(provider, start, { stdin, stdout }, ended) {
  stdin.end(INPUT[provider]);
  const lines = createInterface({ input: stdout });
  const [line] = await once(lines, "line");
  checkFirst(provider, JSON.parse(line).type);
  const elapsed = performance.now() - start;
  lines.resume();
  await ended;
  return elapsed;
}

const bare =
  (provider, { binaries, cwd, env }) =>
  async () => {
    const start = performance.now();
    const child = spawn(binaries[provider], [], { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    return firstLine(provider, start, child, once(child, "close"));
  };

const withExeca =
  (execa, provider, { binaries, cwd, env }) =>
  async () => {
    const start = performance.now();
    const child = execa(binaries[provider], [], { cwd, env, extendEnv: false, stderr: "ignore" });
    return firstLine(provider, start, child, child);
  };

/** From the call to the first of these events; the rest is read, outside of what is measured. */
async function firstEvent(provider, start, events) {
  let elapsed;
  for await (const { type } of events) {
    if (elapsed !== undefined) continue;
    elapsed = performance.now() - start;
    checkFirst(provider, type);
  }
  return elapsed;
}

const withClaudeSdk =
  (query, { binaries, cwd, env }, hooks) =>
  () => {
    const start = performance.now();
    const options = { pathToClaudeCodeExecutable: binaries.claude, cwd, env, settingSources: [], hooks };
    return firstEvent("claude", start, query({ prompt: PROMPT, options }));
  };

const withCodexSdk =
  (Codex, { binaries, cwd, env }) =>
  async () => {
    const start = performance.now();
    const codex = new Codex({ codexPathOverride: binaries.codex, env });
    const { events } = await codex.startThread({ workingDirectory: cwd }).runStreamed(PROMPT);
    return firstEvent("codex", start, events);
  };

const withBridle =
  (hooks, { cwd, env }) =>
  async () => {
    const start = performance.now();
    const run = await spawnAgent({ hooks, prompt: PROMPT, cwd, baseEnv: env, receiptSink: () => {} });
    let elapsed;
    for await (const { type } of run) if (type === "session") elapsed ??= performance.now() - start;
    const { outcome, reason } = await run.result;
    if (outcome !== "success") throw new Error(`The run ended as ${outcome}: ${reason}`);
    return elapsed;
  };

/** Of a first event, in times of what a bare process takes; measured is about half of it. */
const START_LIMIT = 10;

/** @param options `hasPeers`: false: what needs no other package, in one table */
export async function benchPeers({ rounds = 30, each = 2, hasPeers = true } = {}) {
  const fakes = makeFakes("peers");
  const { preflight } = codexAdapter;
  // codex's own app-server would be asked; the fake has none.
  codexAdapter.preflight = async () => ({ issues: [], foreignHooks: [], capabilities: {} });
  const how = { unit: "ms", baseline: "child_process", rounds, each };
  try {
    const peers = hasPeers ? await peersOf(fakes) : { claude: [], codex: [] };
    const bridle = async (name, declaration, provider) => {
      const { cwd, binaries } = fakes;
      const options = { provider, cwd, binary: binaries[provider], prove: "off" };
      return { name, run: withBridle(await compileAgentHooks(declaration, options), fakes) };
    };
    const codex = await compare({
      ...how,
      title: "Start until the first event, codex's protocol, without preflight",
      variants: [
        { name: "child_process", run: bare("codex", fakes) },
        ...peers.codex,
        await bridle("Bridle, no hook", {}, "codex"),
      ],
      limits: {
        [`Bridle, no hook ≤ ${START_LIMIT} × child_process`]: (rows) => ({
          value: rows["Bridle, no hook"].ratio,
          limit: START_LIMIT,
        }),
      },
    });
    if (!hasPeers) return [codex];
    const guarded = { PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] };
    const claude = await compare({
      ...how,
      title: "Start until the first event, claude's protocol",
      variants: [
        { name: "child_process", run: bare("claude", fakes) },
        ...peers.claude,
        await bridle("Bridle, no hook", {}, "claude"),
        await bridle("Bridle, a guard", guarded, "claude"),
      ],
      notes: [
        "Bridle's rows have its preflight in them; with a guard also the canary, a hook call of its own.",
      ],
    });
    return [claude, codex];
  } finally {
    codexAdapter.preflight = preflight;
    fakes.remove();
  }
}

async function peersOf(fakes) {
  const { execa } = await import("execa");
  const { query } = await import("@anthropic-ai/claude-agent-sdk");
  const { Codex } = await import("@openai/codex-sdk");
  const hooks = { PreToolUse: [{ hooks: [async () => ({})] }] };
  return {
    claude: [
      { name: "execa", run: withExeca(execa, "claude", fakes) },
      { name: "claude-agent-sdk", run: withClaudeSdk(query, fakes, undefined) },
      { name: "claude-agent-sdk, a hook", run: withClaudeSdk(query, fakes, hooks) },
    ],
    codex: [
      { name: "execa", run: withExeca(execa, "codex", fakes) },
      { name: "codex-sdk", run: withCodexSdk(Codex, fakes) },
    ],
  };
}
