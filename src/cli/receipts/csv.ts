// Receipts as CSV (RFC 4180): one head and one row a line. Must never give a spreadsheet a formula.

import { describeEntry } from "./describe.ts";
import type { Entry } from "./entry.ts";

const FIELDS = [
  "kind",
  "id",
  "run_id",
  "session_id",
  "seq",
  "call",
  "owner_id",
  "scope",
  "event",
  "hook",
  "hook_type",
  "failure_mode",
  "status",
  "decision",
  "background",
  "asked",
  "tool_name",
  "tool_use_id",
  "agent_id",
  "duration_ms",
  "exit",
  "input_keys",
  "output_keys",
  "notes",
  "error",
  "outcome",
] as const;

/** What a spreadsheet would calculate gets a quote in front: it then shows the cell as text. Full-width signs count, for some of them. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

export const CSV_HEAD = toCsvRow(["at", ...FIELDS, "text"]);

/** Lists are words with spaces between; `text` is the line as `bridle receipts show` has it. */
export function toCsv(entry: Entry): string {
  const line = entry.line as unknown as Readonly<Record<string, unknown>>;
  const own: Readonly<Record<string, unknown>> = {
    session_id: entry.sessionId,
    status: entry.status,
    hook: entry.hook,
    tool_name: entry.tool,
    // A registration has other names for these.
    ...(entry.of === "host" && entry.kind === "hook" ? { hook_type: line.type } : {}),
  };
  const text = describeEntry(entry).join(" ");
  return toCsvRow([entry.at, ...FIELDS.map((name) => cellOf(own[name] ?? line[name])), text]);
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value))
    return value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(" ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function toCsvRow(cells: readonly string[]): string {
  return `${cells.map(toCell).join(",")}\r\n`;
}

export function toCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
