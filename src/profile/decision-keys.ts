// Decisions in a place the profile does not read, or told twice: what may have been a denial must not pass for silence (Dv1-5).

import { isJsonObject, type JsonObject } from "../json.ts";

/** Longest quote of a guard's output, in UTF-16 units. */
export const QUOTE_LIMIT = 300;

/**
 * Keys by which this or another system spells a decision, without case and separators. In a place the profile does not read, they
 * deny on a gate: `permission_decision` is what a Python author writes, `permission` what another host wants.
 */
const DECISION_KEYS = new Set([
  "permissiondecision",
  "decision",
  "permission",
  "behavior",
  "verdict",
  "allow",
  "allowed",
  "approve",
  "approved",
  "deny",
  "denied",
  "block",
  "blocked",
  "hookspecificoutput",
  "proto",
]);

/** JSON.parse keeps the last of two equal keys; which one the guard meant is not known. */
const DUPLICATED_KEY = /"(hookSpecificOutput|permissionDecision|updatedInput)"\s*:(?:.|\n)*"\1"\s*:/;

/** The key that the text of an answer holds twice, if any. */
export function findDuplicatedKey(text: string): string | undefined {
  return DUPLICATED_KEY.exec(text)?.[1];
}

/** A decision-like key outside the places the profile reads, or `continue: false`, which neither provider honours as a block. */
export function findMisplaced(
  answer: JsonObject,
  specific: JsonObject,
  readInSpecific: readonly string[],
  readAtTop: readonly string[],
): string | undefined {
  const found: string[] = [];
  const collect = (place: JsonObject, prefix: string, read: readonly string[]) => {
    for (const [key, value] of Object.entries(place)) {
      const plain = key.toLowerCase().replaceAll(/[_\-\s]/g, "");
      if (DECISION_KEYS.has(plain) && !read.includes(key))
        found.push(`${prefix}${key} ${JSON.stringify(value)}`);
    }
  };
  collect(answer, "", [...readAtTop, "hookSpecificOutput"]);
  collect(specific, "hookSpecificOutput.", readInSpecific);
  if (answer.continue === false) found.push("continue false");
  if (Object.hasOwn(answer, "hookSpecificOutput") && !isJsonObject(answer.hookSpecificOutput)) {
    found.push(`hookSpecificOutput ${JSON.stringify(answer.hookSpecificOutput)}`);
  }
  if (found.length === 0) return undefined;
  return found.join(", ").slice(0, QUOTE_LIMIT);
}
