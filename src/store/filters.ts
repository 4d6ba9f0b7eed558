// What can be asked of a store, and the conditions that it becomes. Values are bound, never written into the statement. Pure.

import { types } from "node:util";
import type { FailureMode, HookReceipt, HookRecord, HookType } from "../host/receipt.ts";
import { EVENT_NAMES } from "../profile/events.ts";
import { invalidOption, readOptions } from "../receipts/check-arguments.ts";
import { readIsoTime, toIsoTime } from "../receipts/iso-time.ts";

/** All given fields must hold. A word must be equal as a whole. */
export interface ReceiptFilters
  extends Partial<
    Pick<
      HookReceipt,
      | "id"
      | "owner_id"
      | "scope"
      | "run_id"
      | "session_id"
      | "event"
      | "hook"
      | "status"
      | "decision"
      | "tool_name"
    >
  > {
  /** Started then or later: ISO 8601, UTC unless it says otherwise, or a Date. */
  readonly since?: string | Date;
  /** Started then or before: ISO 8601, UTC unless it says otherwise, or a Date. */
  readonly until?: string | Date;
  /** At most so many, the oldest ones. @default all */
  readonly limit?: number;
}

/** All given fields must hold. A word must be equal as a whole. */
export interface HookFilters
  extends Partial<Pick<HookRecord, "id" | "owner_id" | "scope" | "event" | "type" | "failure_mode">> {
  /** At most so many, the oldest ones. @default all */
  readonly limit?: number;
}

const RECEIPT_WORDS = [
  "id",
  "owner_id",
  "scope",
  "run_id",
  "session_id",
  "event",
  "hook",
  "status",
  "decision",
  "tool_name",
] as const;
const HOOK_WORDS = ["id", "owner_id", "scope", "event", "type", "failure_mode"] as const;

/** Another word would find nothing, and look like an answer. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  event: EVENT_NAMES,
  status: ["ok", "failed", "timed_out"] satisfies HookReceipt["status"][],
  decision: ["none", "allow", "rewrite", "deny"] satisfies HookReceipt["decision"][],
  type: ["command", "function", "http"] satisfies HookType[],
  failure_mode: ["open", "closed", "error"] satisfies FailureMode[],
};

export interface Conditions {
  readonly where: readonly string[];
  readonly values: readonly string[];
  readonly limit: number;
}

type Given = Readonly<Record<string, unknown>>;

/** @throws AgentHooksRefused `option_invalid`: no object, a field that there is not, a value that cannot be used. */
export function readReceiptFilters(filters: ReceiptFilters): Conditions {
  // A misspelt filter would leave everything.
  const given: Given = readOptions(filters, {
    what: "filters",
    known: [...RECEIPT_WORDS, "since", "until", "limit"],
  });
  const { where, values } = readWords(given, RECEIPT_WORDS);
  for (const [name, sign] of [
    ["since", ">="],
    ["until", "<="],
  ] as const) {
    const time = given[name];
    if (time === undefined) continue;
    where.push(`started_at ${sign} ?`);
    values.push(readTime(name, time));
  }
  return { where, values, limit: readLimit(given.limit) };
}

/** @throws AgentHooksRefused `option_invalid`, as above. */
export function readHookFilters(filters: HookFilters): Conditions {
  const given: Given = readOptions(filters, { what: "filters", known: [...HOOK_WORDS, "limit"] });
  return { ...readWords(given, HOOK_WORDS), limit: readLimit(given.limit) };
}

function readWords(given: Given, names: readonly string[]): { where: string[]; values: string[] } {
  const where: string[] = [];
  const values: string[] = [];
  for (const name of names) {
    const value = given[name];
    if (value === undefined) continue;
    if (typeof value !== "string") throw invalidOption(name, value, "a string");
    const known = KNOWN[name];
    if (known?.includes(value) === false) throw invalidOption(name, value, `known: ${known.join(", ")}`);
    where.push(`"${name}" = ?`);
    values.push(value);
  }
  return { where, values };
}

function readTime(name: string, value: unknown): string {
  const time =
    typeof value === "string" ? readIsoTime(value) : types.isDate(value) ? toIsoTime(value) : undefined;
  if (time !== undefined) return time;
  throw invalidOption(name, value, "a Date, or ISO 8601, for example 2026-07-01T00:00:00Z");
}

function readLimit(limit: unknown): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw invalidOption("limit", limit, "a whole number above 0");
}
