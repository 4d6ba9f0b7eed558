// A small sh script in the place of codex, in a project of its own, for what is measured without the provider's own start-up. To run a script
// as a provider, it replaces the adapter's probe and preflight in its own process.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { codexAdapter } from "../dist/render/codex/index.js";

const say = (...events) =>
  `printf '%s\\n' ${events.map((event) => `'${JSON.stringify(event)}'`).join(" ")}\n`;
const START = `#!/bin/sh
cat >/dev/null
${say({ type: "thread.started", thread_id: "t" }, { type: "turn.started" })}`;

/** What the script does when it has its prompt. */
const PROGRAMS = {
  /** Says what codex says, and ends. */
  ends: `${START}${say(
    { type: "item.completed", item: { id: "1", type: "agent_message", text: "done" } },
    { type: "turn.completed", usage: { input_tokens: 1, output_tokens: 1 } },
  )}`,
  waits: `${START}exec sleep 1000\n`,
};

/** Calls `use` with the script's path, its folder and environment, and a start of an agent. Removes everything afterwards. */
export async function withFakeCli(program, use) {
  mkdirSync(join(homedir(), ".cache"), { recursive: true });
  const folder = mkdtempSync(join(homedir(), ".cache", "bridle-bench-spawn-"));
  const cli = join(folder, "fake-codex");
  writeFileSync(cli, PROGRAMS[program]);
  chmodSync(cli, 0o755);
  for (const name of ["project", "tmp"]) mkdirSync(join(folder, name));
  const cwd = join(folder, "project");
  const env = { PATH: "/usr/bin:/bin", HOME: folder, TMPDIR: join(folder, "tmp") };
  const real = { probe: codexAdapter.probe, preflight: codexAdapter.preflight };
  codexAdapter.probe = async () => ({ version: "0.0.0" });
  codexAdapter.preflight = async () => ({ issues: [], foreignHooks: [], capabilities: {} });
  try {
    // A hook of ours alone: the script never calls one, and a guard that is not asked would end the run.
    const hooks = await compileAgentHooks(
      { agent_exit: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
      { provider: "codex", cwd, binary: cli, prove: "off" },
    );
    const start = (options = {}) => spawnAgent({ hooks, prompt: "hello", cwd, baseEnv: env, ...options });
    return await use({ cli, cwd, env, start });
  } finally {
    Object.assign(codexAdapter, real);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Throws when the run was no success: what failed must not look fast. */
export async function expectSuccess(run) {
  const { outcome, reason } = await run.result;
  if (outcome !== "success") throw new Error(`The run ended as ${outcome}: ${reason}`);
}
