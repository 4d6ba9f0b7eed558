// What a run in a folder would leave out: the same look that spawnAgent takes, without a run.

import { realpath } from "node:fs/promises";
import type { RenderedHooks } from "../compiler/token.ts";
import { planOf } from "../compiler/token.ts";
import { type AmbientFinding, scanAmbient } from "./ambient.ts";

/**
 * Lists ambient hooks, rules, settings and instructions that a run of this token in `cwd` would leave out. Reads, never runs.
 * @throws AgentHooksRefused `token_forged`
 */
export async function listAmbient(
  hooks: RenderedHooks,
  { cwd, env = process.env }: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<readonly AmbientFinding[]> {
  const { provider } = planOf(hooks);
  const sources = { provider, cwd: await realpath(cwd), env, wantsRules: true, wantsInstructions: true };
  return (await scanAmbient(sources)).findings;
}
