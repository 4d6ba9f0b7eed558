// What spawnAgent adds to a bare child_process.spawn of the same CLI, until the prompt is handed over. The CLI is a small sh
// script that reads its prompt and prints what codex prints. The preflight is left out on both sides: it is the provider's own
// start-up, not ours. To run a script as a provider, this file replaces the adapter's probe and preflight in its own process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { codexAdapter } from "../dist/render/codex/index.js";
import { compare } from "./harness.mjs";

const FAKE_CLI = `#!/bin/sh
cat >/dev/null
printf '%s\\n' '{"type":"thread.started","thread_id":"t"}' '{"type":"turn.started"}'
printf '%s\\n' '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"done"}}'
printf '%s\\n' '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
`;

const SPAWN_LIMIT_MS = 10;

export async function benchSpawn({ rounds = 40, each = 3 } = {}) {
  mkdirSync(join(homedir(), ".cache"), { recursive: true });
  const folder = mkdtempSync(join(homedir(), ".cache", "bridle-bench-spawn-"));
  const cli = join(folder, "fake-codex");
  writeFileSync(cli, FAKE_CLI);
  chmodSync(cli, 0o755);
  for (const name of ["project", "tmp"]) mkdirSync(join(folder, name));
  const cwd = join(folder, "project");
  const env = { PATH: "/usr/bin:/bin", HOME: folder, TMPDIR: join(folder, "tmp") };
  const real = { probe: codexAdapter.probe, preflight: codexAdapter.preflight };
  codexAdapter.probe = async () => ({ version: "0.0.0" });
  codexAdapter.preflight = async () => ({ issues: [], foreignHooks: [], capabilities: {} });
  try {
    const hooks = await compileAgentHooks(
      {}, // the script asks no hook: with one its run would end as unenforced
      { provider: "codex", cwd, binary: cli, prove: "off" },
    );
    const bare = async () => {
      const start = performance.now();
      const child = spawn(cli, [], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
      child.stdout.resume();
      child.stderr.resume();
      await once(child, "spawn");
      child.stdin.end("hello");
      const handedOver = performance.now() - start;
      await once(child, "close");
      return handedOver;
    };
    const bridle = async () => {
      const start = performance.now();
      const run = await spawnAgent({ hooks, prompt: "hello", cwd, baseEnv: env, receiptSink: () => {} });
      const handedOver = performance.now() - start;
      const { outcome, reason } = await run.result;
      if (outcome !== "success") throw new Error(`The run ended as ${outcome}: ${reason}`);
      return handedOver;
    };
    return await compare({
      title: "Start of a run until the prompt is handed over, without preflight",
      unit: "ms",
      baseline: "child_process.spawn",
      rounds,
      each,
      variants: [
        { name: "child_process.spawn", run: bare },
        { name: "spawnAgent", run: bridle },
      ],
      limits: {
        [`spawnAgent adds ≤ ${SPAWN_LIMIT_MS} ms (p50)`]: (rows) => ({
          value: rows.spawnAgent.p50 - rows["child_process.spawn"].p50,
          limit: SPAWN_LIMIT_MS,
        }),
      },
    });
  } finally {
    Object.assign(codexAdapter, real);
    rmSync(folder, { recursive: true, force: true });
  }
}
