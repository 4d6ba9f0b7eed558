// Decisions in a place the profile does not read, or told twice: what may have been a denial must not pass for silence (Dv1-5).

import { isJsonObject, type Json, type JsonObject } from "../json.ts";

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
  "updatedinput",
  "permissiondecisionreason",
  "reject",
  "rejected",
]);

/** Keys that say a decision only with such a value. */
const SPEAKING_KEYS = new Set(["action", "result", "status", "outcome"]);
const DENIAL = /^(?:deny|denied|block|blocked|reject|rejected|refuse|refused)$/i;

/** Places in which a decision is looked for however deep it lies; a rewritten input may hold anything. */
const DEEP_KEYS = new Set(["permissiondecision", "hookspecificoutput"]);

/** JSON.parse keeps the last of two equal keys; which one the guard meant is not known. `text` must be valid JSON. */
export function findDuplicatedKey(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (const { 0: token } of text.matchAll(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"\s*:?|[{}[\]]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(undefined);
    else if (token === "}" || token === "]") open.pop();
    else if (token.endsWith(":")) {
      const key: string = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1));
      if (open.at(-1)?.has(key)) return key;
      open.at(-1)?.add(key);
    }
  }
  return undefined;
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
      if (!read.includes(key) && speaksOfDecision(key, value))
        found.push(`${prefix}${key} ${JSON.stringify(value)}`);
      else if (key !== "updatedInput" && !(prefix === "" && key === "hookSpecificOutput"))
        collectDeep(value, `${prefix}${key}.`);
    }
  };
  const collectDeep = (value: Json, prefix: string) => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (DEEP_KEYS.has(plainKey(key))) found.push(`${prefix}${key} ${JSON.stringify(inner)}`);
      else collectDeep(inner, `${prefix}${key}.`);
    }
  };
  collect(answer, "", [...readAtTop, "hookSpecificOutput", "updatedInput"]);
  collect(specific, "hookSpecificOutput.", [
    ...readInSpecific,
    "updatedInput",
    ...reasonsRead(specific, readInSpecific),
  ]);
  if (Object.hasOwn(answer, "hookSpecificOutput") && !isJsonObject(answer.hookSpecificOutput)) {
    found.push(`hookSpecificOutput ${JSON.stringify(answer.hookSpecificOutput)}`);
  }
  if (found.length === 0) return undefined;
  return found.join(", ").slice(0, QUOTE_LIMIT);
}

function plainKey(key: string): string {
  return key.toLowerCase().replaceAll(/[_\-\s]/g, "");
}

/** `continue: true` is what both providers take for "go on"; any other value is a stop that neither gives on a gate (Dv1-8). */
function speaksOfDecision(key: string, value: Json): boolean {
  const plain = plainKey(key);
  if (DECISION_KEYS.has(plain)) return true;
  if (plain === "continue") return key !== "continue" || value !== true;
  if (plain === "ok") return value === false;
  return SPEAKING_KEYS.has(plain) && typeof value === "string" && DENIAL.test(value);
}

/** A reason belongs to a decision; alone it is half an answer. */
function reasonsRead(specific: JsonObject, readInSpecific: readonly string[]): string[] {
  const isRead =
    readInSpecific.includes("permissionDecision") && Object.hasOwn(specific, "permissionDecision");
  return isRead ? ["permissionDecisionReason"] : [];
}
