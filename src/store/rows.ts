// What a receipt and a hook look like as rows of the tables, there and back. Pure.

import type { HookReceipt, HookRecord } from "../host/receipt.ts";

export type Cell = string | number | null;
export type Row = Readonly<Record<string, Cell>>;

export const HOOK_COLUMNS = [
  "id",
  "owner_id",
  "scope",
  "event",
  "type",
  "name",
  "matcher",
  "priority",
  "failure_mode",
  "registered_at",
] as const satisfies readonly (keyof HookRecord)[];

export const EXECUTION_COLUMNS = [
  "id",
  "seq",
  "owner_id",
  "scope",
  "run_id",
  "session_id",
  "call",
  "event",
  "hook",
  "hook_type",
  "failure_mode",
  "started_at",
  "duration_ms",
  "status",
  "decision",
  "background",
  "asked",
  "tool_name",
  "tool_use_id",
  "agent_id",
  "input_keys",
  "output_keys",
  "exit",
  "notes",
  "error",
] as const satisfies readonly (keyof HookReceipt)[];

const LISTS: readonly string[] = ["input_keys", "output_keys", "notes"];

/** Cells in the order of the columns. */
export function toCells<T extends object>(record: T, columns: readonly (keyof T)[]): Cell[] {
  return columns.map((column) => {
    const value: unknown = record[column];
    if (value === undefined) return null;
    if (typeof value === "boolean") return value ? 1 : 0;
    return Array.isArray(value) ? JSON.stringify(value) : (value as Cell);
  });
}

/** Without the fields that are null: a field that was not given stays away. */
export function fromRow<T>(row: Row, columns: readonly (keyof T & string)[]): T {
  const fields = columns.flatMap((column): [string, unknown][] => {
    const cell = row[column] ?? null;
    if (cell === null) return [];
    if (column === "background") return [[column, cell !== 0]];
    return [[column, LISTS.includes(column) ? JSON.parse(String(cell)) : cell]];
  });
  return Object.fromEntries(fields) as T;
}

/** `"id", "seq", …` */
export function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}
