// The fake codex of the bench in a project of its own, for what is measured without the provider's own start-up: the adapter's preflight is
// replaced in this process.

import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { codexAdapter } from "../dist/render/codex/index.js";
import { makeFakes } from "./fakes/fakes.mjs";

/** What a prompt orders of the fake codex. */
const PROMPTS = { ends: "hello", waits: "wait=for-ever" };

/** Calls `use` with the fake's path, its folder and environment, and a start of an agent. Removes everything afterwards. */
export async function withFakeCli(program, use) {
  const { binaries, cwd, env, remove } = makeFakes("spawn");
  const cli = binaries.codex;
  const { preflight } = codexAdapter;
  codexAdapter.preflight = async () => ({ issues: [], foreignHooks: [], capabilities: {} });
  try {
    // A hook of ours alone: the fake never calls one, and a guard that is not asked would end the run.
    const hooks = await compileAgentHooks(
      { agent_exit: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
      { provider: "codex", cwd, binary: cli, prove: "off" },
    );
    const start = (options = {}) =>
      spawnAgent({ hooks, prompt: PROMPTS[program], cwd, baseEnv: env, ...options });
    return await use({ cli, cwd, env, start });
  } finally {
    codexAdapter.preflight = preflight;
    remove();
  }
}

/** Throws when the run was no success: what failed must not look fast. */
export async function expectSuccess(run) {
  const { outcome, reason } = await run.result;
  if (outcome !== "success") throw new Error(`The run ended as ${outcome}: ${reason}`);
}
