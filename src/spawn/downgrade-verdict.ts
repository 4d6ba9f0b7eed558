// A rewrite that this CLI was seen not to apply must not let the original run: it becomes a denial that names the wanted input.

import type { Verdict } from "../profile/verdict.ts";
import type { Downgrade } from "../prove/proof.ts";

export function downgradeVerdict(verdict: Verdict, downgrades: readonly Downgrade[]): Verdict {
  if (verdict.decision !== "rewrite") return verdict;
  if (!downgrades.some(({ name }) => name === "rewrite-to-deny")) return verdict;
  const wanted = JSON.stringify(verdict.updatedInput);
  return {
    decision: "deny",
    reason: `a guard wants another input for this call, and this agent does not apply it by itself. Call again with ${wanted}`,
  };
}
