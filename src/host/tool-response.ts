// A tool's result as hooks see it: JSON where it is JSON, its string form otherwise. Must never consume a stream that is the caller's.

import type { Json } from "../json.ts";
import { copyJson } from "./tool-input.ts";

/** Longest string form, in UTF-16 units. */
const TEXT_LIMIT = 1_000_000;

export function responseOf(result: unknown): Json {
  if (result === undefined) return null;
  if (isStream(result)) return tagOf(result);
  try {
    return copyJson(result, "result");
  } catch {
    return textOf(result);
  }
}

/** Read by whoever asked for it; its insides are nobody's business. */
function isStream(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  try {
    return Symbol.asyncIterator in result || "pipe" in result || "getReader" in result;
  } catch {
    return true;
  }
}

/** What `JSON.stringify` makes of it (dates, classes with `toJSON`), else what `String` does. */
function textOf(result: unknown): Json {
  try {
    if (result instanceof Error) return String(result);
    const written = typeof result === "object" ? JSON.stringify(result) : undefined;
    const parsed: Json = written === undefined ? null : JSON.parse(written);
    if (written !== undefined && written !== "{}") return parsed;
  } catch {
    // A cycle or a BigInt: the string form is left.
  }
  try {
    return String(result).slice(0, TEXT_LIMIT);
  } catch {
    return tagOf(result);
  }
}

/** `[object Map]`: for what has no better word of its own. */
function tagOf(result: unknown): string {
  try {
    return Object.prototype.toString.call(result);
  } catch {
    return "something that cannot be told";
  }
}
