// What one guard adds to one tool call of the real CLIs, against a loopback model: no hook, a `/bin/true` hook as the provider
// runs it, a Node and a Python script as the provider runs them, a Bridle function handler behind shim and broker or over callbacks, and a
// callback of claude's official SDK. The provider's own hook commands are put in the place of ours after rendering, so that everything else is
// the same: codex writes down its session in all of them, as it does under a guard; what that costs is a row of its own.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { findInPackages } from "../dist/compiler/native-package.js";
import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { startAnthropicServer } from "../dist/prove/anthropic-server.js";
import { startOpenaiServer } from "../dist/prove/openai-server.js";
import { loopbackProvider } from "../dist/prove/provider-env.js";
import { scriptToken } from "../dist/prove/script.js";
import { claudeAdapter } from "../dist/render/claude/index.js";
import { hooksOverride, trustHash } from "../dist/render/codex/hooks.js";
import { codexAdapter } from "../dist/render/codex/index.js";
import { tomlValue } from "../dist/render/codex/toml.js";
import { compare, quantile } from "./harness.mjs";

const CALLS = 20;
/** What `name` adds to an unguarded call, as a share of what `other` adds. */
const share = (name, other, limit) => [
  `${name} adds ≤ ${limit.toFixed(3)} × what ${other} adds`,
  (rows) => ({
    value: (rows[name].p50 - rows["no hook"].p50) / (rows[other].p50 - rows["no hook"].p50),
    limit,
  }),
];
const LIMITS = {
  claude: Object.fromEntries([
    share("Bridle, callbacks", "/bin/true hook", 0.6),
    share("Bridle, callbacks", "Node script hook", 1 / 8),
    share("Bridle, shim", "/bin/true hook", 1.25),
  ]),
  codex: Object.fromEntries([
    share("Bridle, shim", "/bin/true hook", 2.2),
    share("Bridle, shim", "Node script hook", 1 / 6),
  ]),
};
const ADAPTERS = { claude: claudeAdapter, codex: codexAdapter };

/** The rendered run with another command in the place of our handler. */
function withCommand(provider, rendered, command) {
  if (provider === "claude") {
    const files = rendered.files.map((file) => {
      if (file.path !== "settings.json") return file;
      const settings = JSON.parse(file.content);
      settings.hooks = { PreToolUse: [{ hooks: [{ type: "command", command, timeout: 30 }] }] };
      return { ...file, content: JSON.stringify(settings) };
    });
    return { ...rendered, files };
  }
  const hook = {
    event: "PreToolUse",
    key: "/<session-flags>/config.toml:pre_tool_use:0:0",
    command,
    timeout: 30,
  };
  const override = hooksOverride([{ ...hook, trustedHash: trustHash("PreToolUse", hook) }]);
  const argv = rendered.argv.map((word) =>
    word.startsWith("hooks=") ? `hooks=${tomlValue(override)}` : word,
  );
  return { ...rendered, argv };
}

async function measure(
  provider,
  { folder, binary, command, handler, transport = "shim", isRecorded = true },
) {
  const cwd = mkdtempSync(join(folder, "project-"));
  const token = scriptToken("bench");
  const step = { tools: [{ kind: "shell", command: "true" }] };
  const start = provider === "claude" ? startAnthropicServer : startOpenaiServer;
  const server = await start({ scripts: { [token]: Array(CALLS).fill(step) } });
  const { env, providerConfig, models } = loopbackProvider(provider, server.url);
  // A provider's own hook is not declared: a declared guard that is never asked would end the run.
  const declared = handler
    ? { PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] }
    : {};
  const hooks = await compileAgentHooks(declared, { provider, cwd, binary, prove: "off", transport });
  const adapter = ADAPTERS[provider];
  const real = { materialise: adapter.materialise, preflight: adapter.preflight };
  if (provider === "codex" && isRecorded)
    adapter.materialise = (plan, context) => {
      const rendered = real.materialise(plan, context);
      return { ...rendered, argv: rendered.argv.filter((word) => word !== "--ephemeral") };
    };
  if (command) {
    const { materialise } = adapter;
    adapter.materialise = (plan, context) => withCommand(provider, materialise(plan, context), command);
    adapter.preflight = async () => ({ issues: [], foreignHooks: [], capabilities: {} });
  }
  try {
    const run = await spawnAgent({
      hooks,
      prompt: `go ${token}`,
      cwd,
      configHome: "run",
      baseEnv: {
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        HOME: folder,
        TMPDIR: join(folder, "tmp"),
        ...env,
      },
      passEnv: ["NO_PROXY"],
      receiptSink: () => {},
      model: models[0],
      // Without a sandbox of codex's own: starting it takes longer than any hook, and never the same.
      ...(provider === "claude"
        ? { allowedTools: ["Bash"] }
        : { providerConfig, sandbox: "danger-full-access" }),
    });
    const { outcome, reason, hooks: counts } = await run.result;
    if (outcome !== "success") throw new Error(`${provider} ended as ${outcome}: ${reason}`);
    if (handler && counts.ran !== CALLS)
      throw new Error(`${counts.ran} of ${CALLS} calls reached the handler`);
  } finally {
    Object.assign(adapter, real);
    await server.close();
  }
  return msPerCall(server);
}

/** The median of a run's calls, from model request to model request: one that something else on the machine got between counts once. */
function msPerCall({ requests }) {
  const asked = requests.filter(
    ({ method, path }) => method === "POST" && /\/(messages|responses)(\?|$)/.test(path),
  );
  const ends = asked.slice(-CALLS - 1).map(({ at }) => at);
  return quantile(
    ends.slice(1).map((at, nth) => at - ends[nth]),
    0.5,
  );
}

/** The same calls of claude under its official SDK, with a hook that has no objection. */
async function measureClaudeSdk(query, { folder, binary }) {
  const cwd = mkdtempSync(join(folder, "project-"));
  const token = scriptToken("bench");
  const step = { tools: [{ kind: "shell", command: "true" }] };
  const server = await startAnthropicServer({ scripts: { [token]: Array(CALLS).fill(step) } });
  const { env, models } = loopbackProvider("claude", server.url);
  let count = 0;
  const hook = async () => {
    count += 1;
    return {};
  };
  let ended;
  try {
    const options = {
      pathToClaudeCodeExecutable: binary,
      cwd,
      env: {
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        HOME: folder,
        TMPDIR: join(folder, "tmp"),
        CLAUDE_CONFIG_DIR: mkdtempSync(join(folder, "home-")),
        ...env,
      },
      model: models[0],
      settingSources: [],
      allowedTools: ["Bash"],
      permissionMode: "default",
      hooks: { PreToolUse: [{ hooks: [hook] }] },
    };
    for await (const message of query({ prompt: `go ${token}`, options }))
      if (message.type === "result") ended = message.subtype;
  } finally {
    await server.close();
  }
  if (ended !== "success") throw new Error(`claude under its SDK ended as ${ended}`);
  if (count !== CALLS) throw new Error(`${count} of ${CALLS} calls reached the hook of the SDK`);
  return msPerCall(server);
}

/** The interpreter itself: `python3` may be a script that looks for it. Undefined: there is none. */
function findPython() {
  const { status, stdout } = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], {
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : undefined;
}

async function benchProvider(provider, { rounds }) {
  const modules = join(import.meta.dirname, "..", "conformance", "node_modules");
  const binary = await findInPackages(provider, modules);
  if (binary === undefined) throw new Error(`no ${provider}: run npm ci --prefix conformance`);
  mkdirSync(join(homedir(), ".cache"), { recursive: true });
  const folder = mkdtempSync(join(homedir(), ".cache", "bridle-bench-call-"));
  mkdirSync(join(folder, "tmp"));
  const script = join(folder, "hook.cjs");
  writeFileSync(script, "process.stdin.resume();\n");
  const python = findPython();
  const pythonScript = join(folder, "hook.py");
  writeFileSync(pythonScript, "import json, sys\njson.load(sys.stdin)\n");
  const query = provider === "claude" ? (await import("@anthropic-ai/claude-agent-sdk")).query : undefined;
  const at = (options) => () => measure(provider, { folder, binary, ...options });
  try {
    return await compare({
      title: `One tool call of ${provider}, model request to model request`,
      unit: "ms",
      baseline: "no hook",
      rounds,
      warmup: 1,
      each: 1,
      variants: [
        { name: "no hook", run: at({}) },
        ...(provider === "codex" ? [{ name: "no hook, no session", run: at({ isRecorded: false }) }] : []),
        { name: "/bin/true hook", run: at({ command: "/bin/true" }) },
        { name: "Node script hook", run: at({ command: `'${process.execPath}' '${script}'` }) },
        ...(python === undefined
          ? []
          : [{ name: "Python script hook", run: at({ command: `'${python}' '${pythonScript}'` }) }]),
        { name: "Bridle, shim", run: at({ handler: true }) },
        ...(query === undefined
          ? []
          : [
              { name: "Bridle, callbacks", run: at({ handler: true, transport: "callbacks" }) },
              {
                name: "claude-agent-sdk, a hook",
                run: () => measureClaudeSdk(query, { folder, binary }),
              },
            ]),
      ],
      limits: LIMITS[provider],
      notes: python === undefined ? ["This machine has no python3."] : [],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function benchGuardedCall({ rounds = 7 } = {}) {
  return [await benchProvider("claude", { rounds }), await benchProvider("codex", { rounds })];
}
