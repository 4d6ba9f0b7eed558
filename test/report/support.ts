// Receipts of runs made by hand, with a clock of their own, chained as a run writes them; and what is known of a fan-out of such runs.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AttemptRecord, FanOutRecord, TaskRecord } from "../../src/fanout/record.ts";
import { genesisOf, sealLine } from "../../src/receipts/chain.ts";
import type { ReceiptLine } from "../../src/receipts/receipt.ts";
import { verifyReceipts } from "../../src/receipts/verify-receipts.ts";
import { renderFanOutPage } from "../../src/report/fan-out-page.ts";
import { type RunReport, readRunReport } from "../../src/report/run-record.ts";

export const START = Date.parse("2026-07-01T10:00:00.000Z");

/** Milliseconds from the start of the run, and the line. */
export type Timed = readonly [number, ReceiptLine];

export function toLines(runId: string, timed: readonly Timed[], startMs = START): string[] {
  let prev = genesisOf(runId);
  return timed.map(([ms, line], seq) => {
    const stamped = {
      run_id: runId,
      seq,
      at: new Date(startMs + ms).toISOString(),
      ...line,
      ...(line.kind === "run_ended" ? { lines: seq + 1 } : {}),
    };
    const sealed = sealLine(stamped, prev);
    prev = sealed.hash;
    return sealed.text;
  });
}

export function started(fields: Partial<Extract<ReceiptLine, { kind: "run_started" }>> = {}): ReceiptLine {
  return {
    kind: "run_started",
    provider: "codex",
    provider_version: "0.171.0",
    binary_sha256: "0".repeat(64),
    digest: "0".repeat(64),
    prove: "proven",
    cwd: "/srv/project",
    session_id: "session-1",
    prompt_bytes: 40,
    ...fields,
  };
}

export function ended(
  ms: number,
  fields: Partial<Extract<ReceiptLine, { kind: "run_ended" }>> = {},
): ReceiptLine {
  return {
    kind: "run_ended",
    outcome: "success",
    reason: "completed",
    exit_code: 0,
    signal: null,
    duration_ms: ms,
    extinction: "proven",
    ...fields,
  };
}

export interface CallSpec {
  readonly at: number;
  readonly call: number;
  readonly event?: "PreToolUse" | "PostToolUse" | "UserPromptSubmit";
  readonly tool?: string;
  readonly decision?: "none" | "allow" | "deny";
  readonly reason?: string;
  readonly took?: number;
  readonly failed?: string;
  readonly hook?: string;
}

export function callLines(spec: CallSpec): Timed[] {
  const { at, call, event = "PreToolUse", tool = "Bash", decision = "none", reason, took = 12 } = spec;
  const hook = spec.hook ?? `${event}[0].hooks[0]`;
  return [
    [
      at,
      { kind: "fired", event, call, fields: { tool_input: 30 }, tool_name: tool, tool_use_id: `t${call}` },
    ],
    [
      at + took,
      {
        kind: "hook",
        event,
        call,
        hook,
        decision,
        failed: spec.failed !== undefined,
        exit: decision === "deny" ? "exit 2" : "exit 0",
        duration_ms: took,
        leftovers: 0,
        notes: spec.failed === undefined ? [] : [{ code: "hook_failed", detail: spec.failed }],
      },
    ],
    [
      at + took,
      {
        kind: "verdict",
        event,
        call,
        decision,
        matched: [hook],
        duration_ms: took + 1,
        in_time: true,
        ...(decision === "deny" ? { reason: reason ?? "not today" } : {}),
      },
    ],
  ];
}

export function toolLines(
  at: number,
  took: number,
  name: string,
  id: string,
  { denied = false, failed = false } = {},
): Timed[] {
  return [
    [at, { kind: "tool_called", tool_name: name, tool_use_id: id }],
    [at + took, { kind: "tool_ended", tool_use_id: id, denied, failed }],
  ];
}

/** 60 seconds: two turns, three tools, two denials (at 15 s and 45 s), a failed hook, a fault, a warning. */
export function richRun(): Timed[] {
  const lines: Timed[] = [
    [0, started()],
    [400, { kind: "warning", code: "env_dropped", message: "not passed on: BASH_ENV, NODE_OPTIONS" }],
    [900, { kind: "preflighted", attested: true, issues: [], foreign_hooks: 0 }],
    [1000, { kind: "turn", turn: 1, state: "started" }],
    ...callLines({ at: 1100, call: 1, event: "UserPromptSubmit", tool: "", took: 40 }),
    ...callLines({ at: 4000, call: 2, took: 25 }),
    ...toolLines(4100, 7000, "Bash", "t2"),
    ...callLines({
      at: 15_000,
      call: 3,
      decision: "deny",
      reason: "rm -rf / would remove everything: name a folder",
      took: 60,
    }),
    ...toolLines(14_900, 300, "Bash", "t3", { denied: true }),
    ...callLines({ at: 22_000, call: 4, tool: "Edit", took: 18, hook: "PreToolUse[1].hooks[0]" }),
    ...toolLines(22_100, 4000, "Edit", "t4"),
    ...toolLines(23_000, 9000, "WebFetch", "t5", { failed: true }),
    [30_000, { kind: "turn", turn: 1, state: "ended", status: "ok" }],
    [33_000, { kind: "turn", turn: 2, state: "started" }],
    ...callLines({
      at: 45_000,
      call: 5,
      tool: "Write",
      decision: "deny",
      failed: "exit 1: no such file",
      took: 900,
    }),
    [52_000, { kind: "fault", fault: "late", event: "PreToolUse", detail: "call 6: nobody waited any more" }],
    [57_000, { kind: "turn", turn: 2, state: "ended", status: "ok" }],
    [
      59_900,
      {
        kind: "attested",
        canary: "came",
        events: [
          {
            event: "PreToolUse",
            rendered: true,
            preflighted: true,
            fired: 4,
            answered: 4,
            late: 0,
            never: 0,
          },
        ],
      },
    ],
    [60_000, ended(60_000)],
  ];
  return lines.sort(([one], [other]) => one - other);
}

export async function readRun(folder: string, runId: string, lines: readonly string[]): Promise<RunReport> {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${runId}.jsonl`);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return readRunReport(path, runId, await verifyReceipts(path));
}

export const runIdOf = (index: number) => `66666666-aaaa-4aaa-8aaa-${String(index).padStart(12, "0")}`;
const timeOf = (ms: number) => new Date(START + ms).toISOString();

export interface FanOutSpec {
  readonly tasks: number;
  /** By index of the task. */
  readonly denied?: readonly number[];
  readonly names?: (index: number) => string;
}

const ODD: Readonly<Record<number, NonNullable<TaskRecord["outcome"]>>> = {
  2: "failed",
  4: "timed_out",
  6: "unenforced",
  8: "skipped",
};

/** Task n runs from n * 2 s to n * 2 s + 10 s; task 1 has two attempts; tasks 2, 4, 6 and 8 came to something else than success. */
export async function makeFanOutPage(folder: string, spec: FanOutSpec) {
  const { tasks, denied = [], names = (index: number) => `task-${index}` } = spec;
  const runs = new Map<string, RunReport>();
  const records: TaskRecord[] = [];
  for (let index = 0; index < tasks; index += 1) {
    const outcome = ODD[index] ?? "success";
    const runId = runIdOf(index);
    const from = index * 2_000;
    const attempt: AttemptRecord = {
      attempt: index === 1 ? 2 : 1,
      runId,
      startedAt: timeOf(from),
      endedAt: timeOf(from + 10_000),
      outcome,
      costUsd: 0.0123,
      turns: 2,
      denied: denied.includes(index) ? 1 : 0,
    };
    const first: AttemptRecord = {
      attempt: 1,
      startedAt: timeOf(0),
      endedAt: timeOf(1_500),
      outcome: "refused",
      reason: "workspace_busy",
    };
    if (outcome !== "skipped") {
      const timed: Timed[] = [
        [0, started()],
        [500, { kind: "turn", turn: 1, state: "started" }],
        ...callLines({
          at: 3_000,
          call: 1,
          decision: denied.includes(index) ? "deny" : "none",
          reason: `no for ${names(index)}`,
        }),
        ...toolLines(3_100, 2_000, "Bash", "t1"),
        [9_000, { kind: "turn", turn: 1, state: "ended", status: "ok" }],
        [10_000, ended(10_000, { outcome, reason: outcome === "success" ? "completed" : "as it happened" })],
      ];
      runs.set(
        runId,
        await readRun(
          folder,
          runId,
          toLines(
            runId,
            timed.sort(([one], [other]) => one - other),
            START + from,
          ),
        ),
      );
    }
    records.push({
      index,
      id: names(index),
      provider: index % 2 === 0 ? "codex" : "claude",
      state: "finished",
      outcome,
      ...(outcome === "success" ? {} : { reason: "as it happened" }),
      attempts: outcome === "skipped" ? [] : index === 1 ? [first, attempt] : [attempt],
    });
  }
  const fanOut: FanOutRecord = {
    id: "77777777-aaaa-4aaa-8aaa-000000000001",
    startedAt: timeOf(0),
    endedAt: timeOf((tasks - 1) * 2_000 + 10_000),
    tasks: records,
  };
  return { fanOut, runs, html: renderFanOutPage({ fanOut, runs, unreadable: new Map(), nowMs: START }) };
}
