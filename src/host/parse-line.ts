// Tells whether an object is a line of a host's receipts, for those who read and those who write. Looks at the types of fields only: a word
// that a newer version writes must stay readable.

import type { JsonObject } from "../json.ts";
import type { HookReceipt, HookRecord } from "./receipt.ts";

/** A line of a host's file. */
export type JsonlLine =
  | ({ readonly kind: "hook" } & HookRecord)
  | ({ readonly kind: "execution" } & HookReceipt);

/** A number that JSON cannot hold is none. `words`: a list of strings. */
type Kind = "string" | "number" | "boolean" | "words" | "string?";
type Shape = readonly (readonly [field: string, wanted: Kind])[];

/** A field that is not what it must be. */
export interface Misfit {
  readonly field: string;
  /** For a message: `a string`. */
  readonly wanted: string;
}

const WANTED: Readonly<Record<Kind, string>> = {
  string: "a string",
  "string?": "a string, or nothing",
  number: "a finite number",
  boolean: "true or false",
  words: "a list of strings",
};

const HOOK: Shape = listFields({
  id: "string",
  owner_id: "string",
  scope: "string?",
  event: "string",
  type: "string",
  name: "string",
  matcher: "string?",
  priority: "number",
  failure_mode: "string",
  registered_at: "string",
});

const EXECUTION: Shape = listFields({
  id: "string",
  seq: "number",
  owner_id: "string",
  scope: "string?",
  run_id: "string",
  session_id: "string",
  call: "number",
  event: "string",
  hook: "string",
  hook_type: "string",
  failure_mode: "string",
  started_at: "string",
  duration_ms: "number",
  status: "string",
  decision: "string",
  background: "boolean",
  asked: "string?",
  tool_name: "string?",
  tool_use_id: "string?",
  agent_id: "string?",
  input_keys: "words",
  output_keys: "words",
  exit: "string",
  notes: "words",
  error: "string?",
});

/** Undefined when it is none. */
export function parseHostLine(line: JsonObject): JsonlLine | undefined {
  const { kind } = line;
  if (kind !== "hook" && kind !== "execution") return undefined;
  return findMisfit(kind, line) === undefined ? (line as unknown as JsonlLine) : undefined;
}

/** The first field of a line that does not fit; undefined when it can be read again. Made for every receipt: it looks once at each field. */
export function findMisfit(
  kind: JsonlLine["kind"],
  line: Readonly<Record<string, unknown>>,
): Misfit | undefined {
  for (const [field, wanted] of kind === "hook" ? HOOK : EXECUTION)
    if (!fits(line[field], wanted)) return { field, wanted: WANTED[wanted] };
  return undefined;
}

function fits(value: unknown, wanted: Kind): boolean {
  if (wanted === "words") return Array.isArray(value) && isOfStrings(value);
  if (wanted === "string?") return value === undefined || typeof value === "string";
  if (wanted === "number") return Number.isFinite(value);
  return typeof value === wanted;
}

/** By place: `every` passes over a hole, and JSON makes null of it. */
function isOfStrings(list: readonly unknown[]): boolean {
  for (let index = 0; index < list.length; index += 1) if (typeof list[index] !== "string") return false;
  return true;
}

function listFields(fields: Readonly<Record<string, Kind>>): Shape {
  return Object.entries(fields);
}
