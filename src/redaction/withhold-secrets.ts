// Keeps from the model what was handed to a guard: a server may quote its request, a command its environment. Must never change a tool's input
// silently: a rewrite that would carry a credential is denied instead.

import type { Envelope } from "../profile/envelope-types.ts";
import type { Verdict } from "../profile/verdict.ts";
import { collectSecrets, type Redactor } from "./redactor.ts";

/** `secrets`: of the entries (`entrySecrets`). What the call's own input holds is known to the model, and may stay. */
export function denyLeak(
  verdict: Verdict,
  { tool_input: original = {} }: Envelope,
  secrets: readonly string[],
): Verdict {
  if (verdict.decision !== "rewrite" || secrets.length === 0) return verdict;
  const [asked, wanted] = [JSON.stringify(original), JSON.stringify(verdict.updatedInput)];
  const isLeak = collectSecrets({}, secrets).some((form) => wanted.includes(form) && !asked.includes(form));
  if (!isLeak) return verdict;
  const reason =
    "a guard wants another input for this call, and it holds a credential that was handed to a guard: neither input is let through";
  return { decision: "deny", reason };
}

/** Reason and context go to the model; an input is never changed here. The verdict itself when there is nothing to hide. */
export function redactVerdict(verdict: Verdict, { text }: Pick<Redactor, "text">): Verdict {
  if (verdict.decision === "deny") {
    const reason = text(verdict.reason);
    return reason === verdict.reason ? verdict : { ...verdict, reason };
  }
  if (verdict.context === undefined) return verdict;
  const context = text(verdict.context);
  return context === verdict.context ? verdict : { ...verdict, context };
}
