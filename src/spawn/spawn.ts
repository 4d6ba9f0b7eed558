// spawnAgent: a run is one of this process from the call on; what starts it is loaded then.

import { planOf } from "../compiler/token.ts";
import { refuseIfAny } from "../errors.ts";
import { SHUTDOWN_MS } from "../supervisor/live-runs.ts";
import { enterProcess } from "../supervisor/shutdown.ts";
import type { SpawnOptions } from "./options.ts";
import type { AgentRun } from "./run.ts";

/**
 * Starts one agent under the hooks of a token. Resolves when the provider has shown that exactly those hooks are live and the
 * prompt was handed over.
 *
 * @throws AgentHooksRefused
 * - before any process and without a trace: `token_forged`, `option_invalid`, `deadline_invalid`, `argument_conflict`,
 *   `provider_changed`, `command_changed`, `placeholder_unset`, `platform_unsupported`, `workspace_busy`, `prompt_denied`;
 * - after `agent_prompt` passed, with `agent_exit` fired (outcome `refused`) and everything removed: `receipts_unwritable`,
 *   `run_dir_unsafe`, `run_dir_unavailable`, `run_home_unsafe`, `resume_mismatch`, `config_home_busy`, `provider_changed`,
 *   `provider_policy`, `attestation_failed`,
 *   `provider_unsupported`;
 * - at either time `supervisor_stopping`; outcome `interrupted` when `agent_exit` fires.
 * @example
 * const run = await spawnAgent({ hooks, prompt: "Fix the failing test", cwd: "/srv/project" });
 * for await (const event of run) if (event.type === "message") console.log(event.text);
 * const { outcome, reason } = await run.result;
 */
export function spawnAgent(options: SpawnOptions): Promise<AgentRun> {
  return spawnOwned(undefined, options);
}

/** As `spawnAgent`, for a supervisor that can tell its runs from others. */
export async function spawnOwned(owner: object | undefined, options: SpawnOptions): Promise<AgentRun> {
  if (typeof options !== "object" || options === null) await refuseShape(options);
  const entered = enterProcess({
    signal: options.signal,
    owner,
    stopsWithProcess: options.shutdown !== "off",
    shutdownMs: options.deadlines?.shutdownMs ?? SHUTDOWN_MS,
  });
  try {
    const plan = planOf(options.hooks);
    const { startRun } = await import("./start-run.ts");
    const run = await startRun(plan, entered, options);
    void run.result.then(entered.leave, entered.leave);
    return run;
  } catch (error) {
    entered.leave();
    throw error;
  }
}

/** @throws AgentHooksRefused `option_invalid` for options that are no object. */
export async function refuseShape(options: unknown): Promise<void> {
  const { checkOptionShapes } = await import("./options-schema.ts");
  refuseIfAny(checkOptionShapes(options));
}
