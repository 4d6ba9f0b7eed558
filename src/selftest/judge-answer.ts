// What one answer of a guard is, and whether it is the one that was expected. A guard's own failure is no denial: it stops the call by accident. Pure.

import type { ChainStep } from "../broker/chain.ts";
import type { CompiledEntry } from "../compiler/plan.ts";
import type { SelfTest } from "../declaration/types.ts";

/** `failed`: it crashed, was late, could not be started or was not understood, whatever that means in a run. */
export type Answer = SelfTest["expect"] | "failed";

export interface Judged {
  readonly got: Answer;
  /** Why: the guard's own reason, or what went wrong. */
  readonly reason: string;
}

/** `allow` is what lets the action go on as it was asked for; text may be added to it. */
export function readAnswer(
  { matched, verdict, failed, notes }: ChainStep,
  { matcher = "*", where }: Pick<CompiledEntry, "matcher" | "where">,
): Judged {
  if (!matched) {
    // Asked alone or first it would have been: everything is wanted.
    if (matcher === "*" && where === undefined)
      return { got: "allow", reason: "not asked: an entry before it does the same" };
    const which = where === undefined ? `the matcher ${matcher}` : `the matcher ${matcher} with its where`;
    return { got: "allow", reason: `not asked: ${which} does not want this` };
  }
  const said = notes.map(({ code, detail }) => `${code}: ${detail}`).join("; ");
  if (failed) return { got: "failed", reason: said };
  if (verdict.decision === "deny") return { got: "deny", reason: verdict.reason };
  if (verdict.decision === "rewrite") return { got: "rewrite", reason: JSON.stringify(verdict.updatedInput) };
  if (verdict.context !== undefined) return { got: "context", reason: verdict.context };
  return { got: "allow", reason: said };
}

export function isExpected(expected: SelfTest["expect"], { matched, verdict, failed }: ChainStep): boolean {
  if (failed) return false;
  if (!matched) return expected === "allow";
  if (expected === "context") return verdict.decision !== "deny" && verdict.context !== undefined;
  if (expected === "allow") return verdict.decision === "none" || verdict.decision === "allow";
  return verdict.decision === expected;
}
