// Tells whether a JSON object is a line of a host's receipts. Looks at the types of fields only: a word that a newer version writes must
// stay readable.

import type { JsonObject } from "../json.ts";
import type { HookReceipt, HookRecord } from "./receipt.ts";

/** A line of a host's file. */
export type JsonlLine =
  | ({ readonly kind: "hook" } & HookRecord)
  | ({ readonly kind: "execution" } & HookReceipt);

type Shape = Readonly<Record<string, "string" | "number" | "boolean" | "words" | "string?">>;

const HOOK: Shape = {
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
};

const EXECUTION: Shape = {
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
};

/** Undefined when it is none. */
export function parseHostLine(line: JsonObject): JsonlLine | undefined {
  const shape = line.kind === "hook" ? HOOK : line.kind === "execution" ? EXECUTION : undefined;
  return shape !== undefined && fits(line, shape) ? (line as unknown as JsonlLine) : undefined;
}

function fits(line: JsonObject, shape: Shape): boolean {
  return Object.entries(shape).every(([name, wanted]) => {
    const value = line[name];
    if (wanted === "words") return Array.isArray(value) && value.every((word) => typeof word === "string");
    if (wanted === "string?") return value === undefined || typeof value === "string";
    return typeof value === wanted;
  });
}
