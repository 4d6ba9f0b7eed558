// How long the real CLIs take from their start to the first request to the model, against a loopback model: started as a user does, and by
// Bridle with one guard, preflight and all.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { findInPackages } from "../dist/compiler/native-package.js";
import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { startAnthropicServer } from "../dist/prove/anthropic-server.js";
import { bareArguments } from "../dist/prove/matrix/bare-arguments.js";
import { startOpenaiServer } from "../dist/prove/openai-server.js";
import { loopbackProvider } from "../dist/prove/provider-env.js";
import { scriptToken } from "../dist/prove/script.js";
import { compare } from "./harness.mjs";

const LIMITS = {
  claude: {
    "Bridle ≤ 1.15 × the bare CLI (p50)": (rows) => ({ value: rows.Bridle.p50, limit: 1.15 * rows.bare.p50 }),
  },
  codex: {
    "Bridle ≤ the bare CLI + 200 ms (p50)": (rows) => ({
      value: rows.Bridle.p50,
      limit: rows.bare.p50 + 200,
    }),
  },
};

/** The bare CLI with the same streams: what a user gives who wants to talk to it. */
function bareStart(provider, model, providerConfig, prompt) {
  if (provider === "codex") return { argv: bareArguments(provider, model, providerConfig), input: prompt };
  const argv = [
    "-p",
    "--input-format=stream-json",
    "--output-format=stream-json",
    "--verbose",
    `--model=${model}`,
  ];
  const message = { type: "user", message: { role: "user", content: [{ type: "text", text: prompt }] } };
  return { argv, input: `${JSON.stringify(message)}\n` };
}

async function measure(provider, { folder, binary, how }) {
  const cwd = mkdtempSync(join(folder, "project-"));
  const token = scriptToken("bench");
  const prompt = `go ${token}`;
  const start = provider === "claude" ? startAnthropicServer : startOpenaiServer;
  const server = await start({ scripts: { [token]: [] } });
  const { env: providerEnv, providerConfig, models } = loopbackProvider(provider, server.url);
  const env = {
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    HOME: folder,
    TMPDIR: join(folder, "tmp"),
    ...providerEnv,
  };
  try {
    const asked = server.waitFor(({ modelCalls }) => modelCalls > 0, { timeoutMs: 60_000 });
    if (how === "bare") {
      const { argv, input } = bareStart(provider, models[0], providerConfig, prompt);
      const startedAt = performance.now();
      const child = spawn(binary, argv, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
      child.stdout.resume();
      child.stderr.resume();
      child.stdin.end(input);
      await asked;
      const took = performance.now() - startedAt;
      await once(child, "close");
      return took;
    }
    const hooks = await compileAgentHooks(
      { PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
      { provider, cwd, binary, prove: "off" },
    );
    const startedAt = performance.now();
    const run = await spawnAgent({
      hooks,
      prompt,
      cwd,
      baseEnv: env,
      passEnv: ["NO_PROXY"],
      receiptSink: () => {},
      model: models[0],
      ...(provider === "codex" ? { providerConfig } : {}),
    });
    await asked;
    const took = performance.now() - startedAt;
    const { outcome, reason } = await run.result;
    if (outcome !== "success") throw new Error(`${provider} ended as ${outcome}: ${reason}`);
    return took;
  } finally {
    await server.close();
  }
}

async function benchProvider(provider, { rounds }) {
  const modules = join(import.meta.dirname, "..", "conformance", "node_modules");
  const binary = await findInPackages(provider, modules);
  if (binary === undefined) throw new Error(`no ${provider}: run npm ci --prefix conformance`);
  mkdirSync(join(homedir(), ".cache"), { recursive: true });
  const folder = mkdtempSync(join(homedir(), ".cache", "bridle-bench-first-"));
  mkdirSync(join(folder, "tmp"));
  try {
    return await compare({
      title: `Start of ${provider} until the first request to the model`,
      unit: "ms",
      baseline: "bare",
      rounds,
      warmup: 1,
      each: 1,
      variants: ["bare", "Bridle"].map((name) => ({
        name,
        run: () => measure(provider, { folder, binary, how: name }),
      })),
      limits: LIMITS[provider],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function benchFirstRequest({ rounds = 9 } = {}) {
  return [await benchProvider("claude", { rounds }), await benchProvider("codex", { rounds })];
}
