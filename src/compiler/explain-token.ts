// explain of the public list. Loads nothing: how to explain a plan comes with its token.

import type { RunOptions } from "../render/provider.ts";
import type { ExplainedRun } from "./explain.ts";
import { mintedOf, type RenderedHooks } from "./token.ts";

/**
 * Shows exactly what a token would start: argv, files with modes, variables, and why each is there. Starts and writes nothing.
 *
 * @param options the run's own options; only `cwd` is needed
 * @throws AgentHooksRefused `token_forged`
 */
export function explain(token: RenderedHooks, options: RunOptions): ExplainedRun {
  const { plan, explain: explainPlan } = mintedOf(token);
  return explainPlan(plan, token.describe(), options);
}
