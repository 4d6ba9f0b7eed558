// What a receipt and a hook look like as rows of the tables, there and back. A row may be somebody else's: one that is no receipt is told as
// none, never thrown. Pure.

import { type JsonlLine, parseHostLine } from "../host/parse-line.ts";
import type { HookReceipt, HookRecord } from "../host/receipt.ts";
import type { JsonObject } from "../json.ts";

/** Somebody else may have written a blob. */
export type Cell = string | number | null | Uint8Array;
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

/** Undefined when the row is no receipt. */
export function toReceipt(row: Row): HookReceipt | undefined {
  return readRow<HookReceipt>("execution", row, EXECUTION_COLUMNS);
}

/** Undefined when the row is no registration. */
export function toHook(row: Row): HookRecord | undefined {
  return readRow<HookRecord>("hook", row, HOOK_COLUMNS);
}

/** Without the fields that are null: a field that was not given stays away. */
function readRow<T extends HookReceipt | HookRecord>(
  kind: JsonlLine["kind"],
  row: Row,
  columns: readonly (keyof T & string)[],
): T | undefined {
  const fields: Record<string, unknown> = {};
  for (const column of columns) {
    const cell = row[column] ?? null;
    if (cell !== null) fields[column] = readCell(column, cell);
  }
  if (parseHostLine({ ...fields, kind } as JsonObject) === undefined) return undefined;
  return fields as unknown as T;
}

/** What cannot be read stays as it is, and then is of the wrong type. */
function readCell(column: string, cell: Exclude<Cell, null>): unknown {
  if (column === "background") return cell === 0 || cell === 1 ? cell === 1 : cell;
  if (!LISTS.includes(column) || typeof cell !== "string") return cell;
  try {
    return JSON.parse(cell);
  } catch {
    return cell;
  }
}

/** `"id", "seq", …` */
export function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}
