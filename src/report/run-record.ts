// A run as its receipts tell it, put together for a page: calls with their hooks, turns, tools. A line may be of another version or a forgery:
// each field is taken only when it is what it should be.

import type { JsonObject } from "../json.ts";
import { readReceipts } from "../receipts/read-receipts.ts";
import type { VerifiedReceipts } from "../receipts/verify-receipts.ts";

export interface HookRun {
  readonly hook: string;
  readonly decision: string;
  readonly failed: boolean;
  readonly exit: string;
  readonly durationMs: number;
  readonly isBackground: boolean;
  readonly notes: readonly string[];
}

/** One event that was fired, with what became of it. Times in milliseconds from the run's first line. */
export interface HookCall {
  readonly call: number;
  readonly event: string;
  readonly tool: string | undefined;
  readonly toolUseId: string | undefined;
  readonly atMs: number;
  /** Undefined: no verdict was written down. */
  readonly decision: string | undefined;
  readonly reason: string | undefined;
  readonly durationMs: number | undefined;
  readonly isInTime: boolean;
  readonly hooks: readonly HookRun[];
}

export interface Turn {
  readonly turn: number;
  readonly startMs: number;
  readonly endMs: number | undefined;
  readonly status: string | undefined;
}

export interface ToolCall {
  readonly name: string;
  readonly id: string | undefined;
  readonly startMs: number;
  readonly endMs: number | undefined;
  readonly isDenied: boolean;
  readonly isFailed: boolean;
}

/** A fault or a warning. */
export interface Remark {
  readonly kind: "fault" | "warning";
  readonly atMs: number;
  readonly code: string;
  readonly event: string | undefined;
  readonly text: string;
}

export interface EventRow {
  readonly event: string;
  readonly preflighted: boolean;
  readonly fired: number;
  readonly answered: number;
  readonly late: number;
  readonly never: number;
}

export interface RunReport {
  readonly runId: string;
  readonly path: string;
  /** ISO 8601, of the first line. */
  readonly startedAt: string | undefined;
  /** From the first line to the last. */
  readonly totalMs: number;
  readonly lines: number;
  readonly unreadable: number;
  /** Of the lines `run_started` and `run_ended`; undefined where there is none. */
  readonly start: JsonObject | undefined;
  readonly end: JsonObject | undefined;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolCall[];
  readonly calls: readonly HookCall[];
  readonly remarks: readonly Remark[];
  readonly canary: string | undefined;
  readonly events: readonly EventRow[];
  readonly verified: VerifiedReceipts;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
interface OpenCall extends Mutable<Omit<HookCall, "hooks">> {
  hooks: HookRun[];
}

/**
 * Reads a run's file of receipts once more than `verified` did.
 *
 * @throws AgentHooksRefused `receipts_unreadable`
 */
export async function readRunReport(
  path: string,
  runId: string,
  verified: VerifiedReceipts,
): Promise<RunReport> {
  const reading = readReceipts(path);
  const collect = createCollector();
  for await (const { of, line } of reading)
    if (of === "run" && line.run_id === runId) collect.take(line as unknown as JsonObject);
  return { runId, path, unreadable: reading.unreadable, verified, ...collect.report() };
}

function createCollector() {
  let first: number | undefined;
  let startedAt: string | undefined;
  let last = 0;
  let lines = 0;
  let start: JsonObject | undefined;
  let end: JsonObject | undefined;
  let attested: JsonObject | undefined;
  const turns: Mutable<Turn>[] = [];
  const tools: Mutable<ToolCall>[] = [];
  const calls: OpenCall[] = [];
  const remarks: Remark[] = [];
  /** Events of ours have call 0, more than one: the latest counts. */
  const byCall = new Map<string, OpenCall>();
  const openTools = new Map<string, Mutable<ToolCall>[]>();

  const timeOf = (line: JsonObject): number => {
    const at = Date.parse(textOf(line.at) ?? "");
    if (Number.isNaN(at)) return last;
    if (first === undefined) {
      first = at;
      startedAt = textOf(line.at);
    }
    const ms = Math.max(0, at - first);
    last = Math.max(last, ms);
    return ms;
  };
  const callOf = (line: JsonObject, atMs: number): OpenCall => {
    const key = `${textOf(line.event)} ${numberOf(line.call)}`;
    const known = byCall.get(key);
    if (known !== undefined && line.kind !== "fired") return known;
    const call: OpenCall = {
      call: numberOf(line.call) ?? 0,
      event: textOf(line.event) ?? "?",
      tool: textOf(line.tool_name),
      toolUseId: textOf(line.tool_use_id),
      atMs,
      decision: undefined,
      reason: undefined,
      durationMs: undefined,
      isInTime: true,
      hooks: [],
    };
    byCall.set(key, call);
    calls.push(call);
    return call;
  };

  const take = (line: JsonObject): void => {
    lines += 1;
    const atMs = timeOf(line);
    switch (line.kind) {
      case "run_started":
        start ??= line;
        return;
      case "run_ended":
        end = line;
        return;
      case "attested":
        attested = line;
        return;
      case "turn": {
        const turn = numberOf(line.turn) ?? 0;
        if (line.state === "started")
          turns.push({ turn, startMs: atMs, endMs: undefined, status: undefined });
        const open = turns.findLast((one) => one.turn === turn && one.endMs === undefined);
        if (line.state === "ended" && open !== undefined)
          Object.assign(open, { endMs: atMs, status: textOf(line.status) });
        return;
      }
      case "tool_called": {
        const id = textOf(line.tool_use_id);
        const tool = {
          name: textOf(line.tool_name) ?? "?",
          id,
          startMs: atMs,
          endMs: undefined,
          isDenied: false,
          isFailed: false,
        };
        tools.push(tool);
        openTools.set(id ?? "", [...(openTools.get(id ?? "") ?? []), tool]);
        return;
      }
      case "tool_ended": {
        const id = textOf(line.tool_use_id);
        const known = openTools.get(id ?? "")?.shift();
        const isDenied = line.denied === true;
        const isFailed = line.failed === true;
        if (known !== undefined) Object.assign(known, { endMs: atMs, isDenied, isFailed });
        else {
          const name = textOf(line.tool_name) ?? "?";
          tools.push({ name, id, startMs: atMs, endMs: atMs, isDenied, isFailed });
        }
        return;
      }
      case "fired":
        callOf(line, atMs);
        return;
      case "hook":
        callOf(line, atMs).hooks.push(readHook(line));
        return;
      case "verdict": {
        const call = callOf(line, atMs);
        call.decision = textOf(line.decision);
        call.reason = textOf(line.reason);
        call.durationMs = numberOf(line.duration_ms);
        call.isInTime = line.in_time !== false;
        return;
      }
      case "fault":
      case "warning":
        remarks.push({
          kind: line.kind,
          atMs,
          code: textOf(line.kind === "fault" ? line.fault : line.code) ?? "?",
          event: textOf(line.event),
          text: textOf(line.kind === "fault" ? line.detail : line.message) ?? "",
        });
        return;
    }
  };

  return {
    take,
    report: () => ({
      startedAt,
      totalMs: last,
      lines,
      start,
      end,
      turns,
      tools,
      calls,
      remarks,
      canary: textOf(attested?.canary),
      events: listOf(attested?.events).map(readEventRow),
    }),
  };
}

function readHook(line: JsonObject): HookRun {
  return {
    hook: textOf(line.hook) ?? "?",
    decision: textOf(line.decision) ?? "?",
    failed: line.failed === true,
    exit: textOf(line.exit) ?? "",
    durationMs: numberOf(line.duration_ms) ?? 0,
    isBackground: line.background === true,
    notes: [
      ...listOf(line.notes).map((note) => `${textOf(note.code) ?? "?"}: ${textOf(note.detail) ?? ""}`),
      ...((numberOf(line.leftovers) ?? 0) > 0 ? [`left ${numberOf(line.leftovers)} process(es) behind`] : []),
    ],
  };
}

function readEventRow(row: JsonObject): EventRow {
  const count = (name: string) => numberOf(row[name]) ?? 0;
  return {
    event: textOf(row.event) ?? "?",
    preflighted: row.preflighted === true,
    fired: count("fired"),
    answered: count("answered"),
    late: count("late"),
    never: count("never"),
  };
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function listOf(value: unknown): JsonObject[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (one): one is JsonObject => typeof one === "object" && one !== null && !Array.isArray(one),
  );
}
