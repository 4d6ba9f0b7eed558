// What can be asked of a store, and the conditions that it becomes. Values are bound, never written into the statement. Pure.

import { AgentHooksRefused } from "../errors.ts";
import type { HookReceipt, HookRecord } from "../host/receipt.ts";

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
  /** Started then or later: ISO 8601, or a Date. */
  readonly since?: string | Date;
  /** Started then or before: ISO 8601, or a Date. */
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

export interface Conditions {
  readonly where: readonly string[];
  readonly values: readonly string[];
  readonly limit: number;
}

/** @throws AgentHooksRefused `option_invalid`: a field that there is not, a value that cannot be used. */
export function readReceiptFilters(filters: ReceiptFilters): Conditions {
  checkFields(filters, [...RECEIPT_WORDS, "since", "until", "limit"]);
  const { where, values } = readWords(filters, RECEIPT_WORDS);
  for (const [name, sign] of [
    ["since", ">="],
    ["until", "<="],
  ] as const) {
    const time = filters[name];
    if (time === undefined) continue;
    where.push(`started_at ${sign} ?`);
    values.push(readTime(name, time));
  }
  return { where, values, limit: readLimit(filters.limit) };
}

/** @throws AgentHooksRefused `option_invalid`, as above. */
export function readHookFilters(filters: HookFilters): Conditions {
  checkFields(filters, [...HOOK_WORDS, "limit"]);
  return { ...readWords(filters, HOOK_WORDS), limit: readLimit(filters.limit) };
}

/** A misspelt filter would return everything. */
function checkFields(filters: object, known: readonly string[]): void {
  for (const name of Object.keys(filters))
    if (!known.includes(name)) throw invalid(name, "is not a filter", `known: ${known.join(", ")}`);
}

function readWords(
  filters: Readonly<Record<string, unknown>> | object,
  names: readonly string[],
): { where: string[]; values: string[] } {
  const where: string[] = [];
  const values: string[] = [];
  for (const name of names) {
    const value = (filters as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    if (typeof value !== "string") throw invalid(name, describe(value), "a string");
    where.push(`"${name}" = ?`);
    values.push(value);
  }
  return { where, values };
}

function readTime(name: string, value: string | Date): string {
  const time = new Date(value);
  if (Number.isNaN(time.getTime()))
    throw invalid(name, describe(value), "ISO 8601, for example 2026-07-01T00:00:00Z");
  return time.toISOString();
}

function readLimit(limit: number | undefined): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw invalid("limit", describe(limit), "a whole number above 0");
  return limit;
}

function describe(value: unknown): string {
  return `${JSON.stringify(value) ?? String(value)} cannot be used (${typeof value})`;
}

function invalid(path: string, message: string, hint: string): AgentHooksRefused {
  return new AgentHooksRefused([{ code: "option_invalid", path, message, hint }]);
}
