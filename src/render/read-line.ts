// One line of a provider's output as a JSON object, or as the event that says it is none. The same for every provider.

import { type Json, type JsonObject, parseJsonObject } from "../json.ts";
import type { StreamEvent } from "./provider.ts";

/** Most text of such a line that is kept, in bytes of UTF-8. */
export const UNPARSED_TEXT_BYTES = 4096;

/** JSON.parse reads any depth; JSON.stringify, and whoever walks a value by recursion, runs out of stack some thousand levels deep. */
const DEEPEST = 1000;

/** Undefined for what is no JSON object, or nests deeper than 1,000 levels. */
export function readLine(text: string): JsonObject | undefined {
  const line = parseJsonObject(text);
  return line === undefined || (mayBeTooDeep(text) && isDeeperThan(DEEPEST, line)) ? undefined : line;
}

/** What stands for a line that `readLine` does not take. */
export function unparsed(line: string): Extract<StreamEvent, { type: "unparsed" }> {
  const bytes = Buffer.byteLength(line);
  return { type: "unparsed", text: startOf(line), bytes };
}

const encoder = new TextEncoder();
/** One for all lines: each of its own would be 4 KiB that only the garbage collector gives back. */
const scratch = Buffer.allocUnsafeSlow(UNPARSED_TEXT_BYTES);

function startOf(line: string): string {
  const { written } = encoder.encodeInto(line, scratch);
  // By way of bytes: a slice would keep the whole line in memory, and those that came with it.
  return scratch.toString("utf8", 0, written);
}

/** A level takes at least two characters of the text. */
function mayBeTooDeep(text: string): boolean {
  return text.length > 2 * DEEPEST;
}

/** By recursion, which is as deep as is looked. A walk costs less than the parsing did, and makes nothing. */
function isDeeperThan(levels: number, value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (isDeeperThan(levels - 1, inner)) return true;
    return false;
  }
  for (const key in value) if (isDeeperThan(levels - 1, value[key] as Json)) return true;
  return false;
}
