// What a value of JSON shape may take in memory. Too much rather than too little, and never recursive: a line may nest as deep as it is long.

import type { JsonObject } from "../json.ts";

/** Of a value itself: a number, a reference, the head of a string or an object. */
const VALUE_BYTES = 32;
const UNIT_BYTES = 2;

/** In bytes. */
export function weigh(value: unknown): number {
  let bytes = 0;
  const open = [value];
  // Most events are flat: their fields are not put on the list.
  while (open.length > 0) {
    const next = open.pop();
    bytes += VALUE_BYTES;
    if (typeof next === "string") bytes += next.length * UNIT_BYTES;
    else if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (typeof next === "object" && next !== null)
      for (const name in next) {
        const field = (next as JsonObject)[name];
        bytes += name.length * UNIT_BYTES;
        if (typeof field === "object" && field !== null) open.push(field);
        else bytes += VALUE_BYTES + (typeof field === "string" ? field.length * UNIT_BYTES : 0);
      }
  }
  return bytes;
}
