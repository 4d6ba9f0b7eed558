// Partial-object matching on the envelope, beside the matcher. Pure.

import type { Json, JsonObject } from "../json.ts";

/**
 * What an envelope must hold: a value stands for itself, an object for a part of an object, and one with operators for a test:
 * `$eq`, `$in`, `$exists`, `$contains`. All of them must hold.
 */
export type Where = { readonly [field: string]: Json };

/** True when the envelope holds what `where` says. Throws when `where` is none. */
export function holds(_where: Where, _envelope: JsonObject): boolean {
  throw new Error("not written yet");
}

/** Says why `where` cannot be used, or undefined when it can. */
export function whereProblem(_where: unknown): string | undefined {
  return undefined;
}
