// One line of a provider's output as a JSON object, or as the event that says it is none. The same for every provider.

import { isJsonObject, type JsonObject, parseJsonObject } from "../json.ts";
import type { StreamEvent } from "./provider.ts";

/** Most text of such a line that is kept, in bytes of UTF-8. */
export const UNPARSED_TEXT_BYTES = 4096;

/** JSON.parse reads any depth; JSON.stringify, and whoever walks a value by recursion, runs out of stack some thousand levels deep. */
const DEEPEST = 1000;

/** Undefined for what is no JSON object, or nests deeper than 1,000 levels. */
export function readLine(text: string): JsonObject | undefined {
  const line = parseJsonObject(text);
  return line === undefined || (mayBeTooDeep(text) && isTooDeep(line)) ? undefined : line;
}

/** What stands for a line that `readLine` does not take. */
export function unparsed(line: string): Extract<StreamEvent, { type: "unparsed" }> {
  const bytes = Buffer.byteLength(line);
  return { type: "unparsed", text: bytes <= UNPARSED_TEXT_BYTES ? line : startOf(line), bytes };
}

function startOf(line: string): string {
  const start = Buffer.allocUnsafe(UNPARSED_TEXT_BYTES);
  const { written } = new TextEncoder().encodeInto(line, start);
  // By way of bytes: a slice would keep the whole line in memory.
  return start.toString("utf8", 0, written);
}

/** A level takes a bracket, and lines with that many are few: those alone are walked. */
function mayBeTooDeep(text: string): boolean {
  if (text.length <= 2 * DEEPEST) return false;
  let brackets = 0;
  for (const bracket of ["[", "{"])
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (++brackets > DEEPEST) return true;
  return false;
}

function isTooDeep(line: JsonObject): boolean {
  let level: object[] = [line];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((value) => Object.values(value).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return isJsonObject(value) || Array.isArray(value);
}
