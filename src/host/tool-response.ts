// A tool's result as hooks see it: JSON where it is JSON, its string form otherwise. Must never consume a stream that is the caller's.

import type { Json } from "../json.ts";
import { copyJson } from "./tool-input.ts";

/** Longest string form, in UTF-16 units. */
const TEXT_LIMIT = 1_000_000;

export function responseOf(result: unknown): Json {
  if (result === undefined) return null;
  try {
    return copyJson(result, "result");
  } catch {
    return textOf(result);
  }
}

/** What `JSON.stringify` makes of it (dates, classes with `toJSON`), else what `String` does. */
function textOf(result: unknown): Json {
  if (result instanceof Error) return String(result);
  try {
    const written = typeof result === "object" ? JSON.stringify(result) : undefined;
    const parsed: Json = written === undefined ? null : JSON.parse(written);
    if (written !== undefined && written !== "{}") return parsed;
  } catch {
    // A cycle or a BigInt: the string form is left.
  }
  try {
    return String(result).slice(0, TEXT_LIMIT);
  } catch {
    return Object.prototype.toString.call(result);
  }
}
