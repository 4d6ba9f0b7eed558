// What a fan-out knows, and each step of it as one transaction. A step is on the disk before anything relies on it. Starts nothing and
// decides nothing.

import { AgentHooksRefused } from "../errors.ts";
import { ownIdentity, type ProcessIdentity, presenceOf } from "../journal/process-identity.ts";
import { processIdentity } from "../journal/record.ts";
import type { JsonObject } from "../json.ts";
import type { Database } from "../store/load-driver.ts";
import { openState } from "./open-state.ts";
import type { TaskEnding } from "./options.ts";
import type { FanOutRecord, TaskOutcome, TaskRecord } from "./record.ts";
import {
  type AfterAttempt,
  type AttemptRow,
  type EndedAttempt,
  type FanOutRow,
  type LostAttempt,
  type NewAttempt,
  type NewFanOut,
  type PlannedWorktree,
  type ReadyTask,
  type StoredAttempt,
  sumOf,
  type TaskRow,
  toAttempt,
  toPublic,
  type WorktreeState,
} from "./state-rows.ts";
import { dropUndefined, type TaskSpec } from "./task.ts";

export type FanOutState = Awaited<ReturnType<typeof openFanOutState>>;

export async function createFanOutState(directory: string, made: NewFanOut): Promise<FanOutState> {
  const database = await openState(directory, { fill: (it) => fill(it, made) });
  return toState(database, directory);
}

export async function openFanOutState(directory: string, options: { readOnly?: boolean } = {}) {
  return toState(await openState(directory, options), directory);
}

function fill(database: Database, { id, digest, source, note, specs, bases }: NewFanOut): void {
  database
    .prepare("INSERT INTO fan_out (only, id, started_at, digest, source, note) VALUES (1, ?, ?, ?, ?, ?)")
    .run(id, now(), digest, source ?? null, JSON.stringify(note));
  const insert = database.prepare(
    "INSERT INTO task (idx, id, provider, spec, base, state) VALUES (?, ?, ?, ?, ?, 'waiting')",
  );
  for (const spec of specs)
    insert.run(spec.index, spec.id, spec.provider, JSON.stringify(spec), bases.get(spec.index) ?? null);
}

const FINAL_TEXT_MAX = 1_000_000;

function toState(database: Database, directory: string) {
  const prepare = <Row>(sql: string) => database.prepare<unknown[], Row>(sql);
  const atOnce = <Given extends unknown[], Answer>(work: (...given: Given) => Answer) => {
    const transaction = database.transaction(work);
    return (...given: Given): Answer => transaction.immediate(...given);
  };
  const attemptsOf = (index: number): StoredAttempt[] =>
    prepare<AttemptRow>("SELECT * FROM attempt WHERE idx = ? ORDER BY attempt").all(index).map(toAttempt);
  const readTask = (row: TaskRow): TaskRecord =>
    dropUndefined<TaskRecord>({
      index: row.idx,
      id: row.id,
      provider: row.provider,
      state: row.state,
      outcome: row.outcome ?? undefined,
      reason: row.reason ?? undefined,
      attempts: attemptsOf(row.idx).map(toPublic),
    });
  const row = (): FanOutRow => {
    const found = prepare<Record<string, string | null>>("SELECT * FROM fan_out").get();
    return {
      id: String(found?.id),
      startedAt: String(found?.started_at),
      endedAt: found?.ended_at ?? undefined,
      digest: String(found?.digest),
      source: found?.source ?? undefined,
      note: JSON.parse(found?.note ?? "{}") as JsonObject,
    };
  };
  const settleTask = (index: number, after: AfterAttempt) => {
    if (after.state === "finished")
      prepare(
        "UPDATE task SET state = 'finished', outcome = ?, reason = ?, ended_at = ?, resume = NULL WHERE idx = ? AND state <> 'finished'",
      ).run(after.outcome, after.reason, now(), index);
    else
      prepare(
        "UPDATE task SET state = 'waiting', not_before = ?, resume = ? WHERE idx = ? AND state = 'running'",
      ).run(after.notBefore, after.resume ?? null, index);
  };

  return {
    directory,
    row,

    /** Says that this process runs it. Throws AgentHooksRefused `fan_out_busy` while another one does. */
    claim: atOnce((assumeDead: boolean) => {
      const { supervisor } =
        prepare<{ supervisor: string | null }>("SELECT supervisor FROM fan_out").get() ?? {};
      if (supervisor != null) refuseWhileAlive(row().id, readIdentity(supervisor), assumeDead);
      prepare("UPDATE fan_out SET supervisor = ?").run(JSON.stringify(ownIdentity()));
    }),
    release: atOnce(() => void prepare("UPDATE fan_out SET supervisor = NULL").run()),
    close: () => void database.close(),

    /** Undefined when nobody runs it. */
    supervisor(): ProcessIdentity | undefined {
      const { supervisor } =
        prepare<{ supervisor: string | null }>("SELECT supervisor FROM fan_out").get() ?? {};
      return supervisor == null ? undefined : readIdentity(supervisor);
    },

    counts(): Readonly<Record<TaskRecord["state"], number>> {
      const rows = prepare<{ state: TaskRecord["state"]; count: number }>(
        "SELECT state, count(*) AS count FROM task GROUP BY state",
      ).all();
      return {
        waiting: 0,
        running: 0,
        finished: 0,
        ...Object.fromEntries(rows.map((it) => [it.state, it.count])),
      };
    },

    specs: (): TaskSpec[] =>
      prepare<TaskRow>("SELECT * FROM task ORDER BY idx")
        .all()
        .map(({ spec }) => JSON.parse(spec) as TaskSpec),

    /** The first task that waits and may be started; else the time at which the next one may. */
    next(at: number): { task?: ReadyTask; notBefore?: number } {
      const found = prepare<TaskRow>(
        "SELECT * FROM task WHERE state = 'waiting' AND not_before <= ? ORDER BY idx LIMIT 1",
      ).get(at);
      if (found !== undefined)
        return {
          task: {
            spec: JSON.parse(found.spec) as TaskSpec,
            base: found.base ?? undefined,
            resume: found.resume ?? undefined,
            attempts: attemptsOf(found.idx),
          },
        };
      const later = prepare<{ at: number | null }>(
        "SELECT min(not_before) AS at FROM task WHERE state = 'waiting'",
      ).get();
      return later?.at == null ? {} : { notBefore: later.at };
    },

    /** US dollars of all attempts. */
    cost: (): number =>
      prepare<{ sum: number | null }>("SELECT total(cost_usd) AS sum FROM attempt").get()?.sum ?? 0,

    /** Before anything of the attempt is made. Returns its number. */
    startAttempt: atOnce((index: number, { runId, worktree }: NewAttempt): number => {
      const { last } =
        prepare<{ last: number | null }>("SELECT max(attempt) AS last FROM attempt WHERE idx = ?").get(
          index,
        ) ?? {};
      const attempt = (last ?? 0) + 1;
      const { changes } = prepare(
        "UPDATE task SET state = 'running' WHERE idx = ? AND state = 'waiting'",
      ).run(index);
      if (changes !== 1) throw new Error(`task ${index} does not wait`);
      prepare(
        "INSERT INTO attempt (idx, attempt, run_id, started_at, worktree, repository, worktree_state) VALUES (?, ?, ?, ?, ?, ?, ?)",
      ).run(
        index,
        attempt,
        runId,
        now(),
        worktree?.path ?? null,
        worktree?.repository ?? null,
        worktree === undefined ? null : "planned",
      );
      return attempt;
    }),

    /** How the attempt ended, and what becomes of its task. */
    endAttempt: atOnce((index: number, attempt: number, ended: EndedAttempt, after: AfterAttempt) => {
      prepare(
        `UPDATE attempt SET ended_at = ?, outcome = ?, reason = ?, class = ?, cost_usd = ?, turns = ?, denied = ?, duration_ms = ?, final_text = ?, session = ?
         WHERE idx = ? AND attempt = ? AND ended_at IS NULL`,
      ).run(
        now(),
        ended.outcome,
        ended.reason,
        ended.class,
        ended.costUsd ?? null,
        ended.turns ?? null,
        ended.denied ?? null,
        ended.durationMs === undefined ? null : Math.round(ended.durationMs),
        ended.finalText?.slice(0, FINAL_TEXT_MAX) ?? null,
        ended.providerSessionId ?? null,
        index,
        attempt,
      );
      settleTask(index, after);
    }),

    /** Of tasks that wait, by index: those that are given up without a further start. */
    finishWaiting: atOnce(
      (
        decide: (task: { index: number; attempts: readonly StoredAttempt[] }) => {
          outcome: TaskOutcome;
          reason: string;
        },
      ): number[] => {
        const waiting = prepare<TaskRow>("SELECT * FROM task WHERE state = 'waiting' ORDER BY idx").all();
        for (const { idx } of waiting)
          settleTask(idx, { state: "finished", ...decide({ index: idx, attempts: attemptsOf(idx) }) });
        return waiting.map(({ idx }) => idx);
      },
    ),

    /** Lets the skipped tasks wait again. */
    unskip: atOnce(
      () =>
        void prepare(
          "UPDATE task SET state = 'waiting', outcome = NULL, reason = NULL, ended_at = NULL, not_before = 0 WHERE state = 'finished' AND outcome = 'skipped'",
        ).run(),
    ),

    /** Attempts of which no end is known. */
    unended: (): LostAttempt[] =>
      prepare<AttemptRow & { spec: string }>(
        "SELECT attempt.*, task.spec AS spec FROM attempt JOIN task USING (idx) WHERE attempt.ended_at IS NULL ORDER BY idx",
      )
        .all()
        .map(({ spec, attempt, run_id: runId }) => ({ spec: JSON.parse(spec) as TaskSpec, attempt, runId })),

    /** Worktrees that may be there and that no task may still use. */
    plannedWorktrees: (): PlannedWorktree[] =>
      prepare<AttemptRow & { base: string }>(
        `SELECT attempt.*, task.base AS base FROM attempt JOIN task USING (idx)
         WHERE worktree_state = 'planned' AND (task.state = 'finished' OR (attempt.ended_at IS NOT NULL AND task.resume IS NULL AND task.state = 'waiting'))`,
      )
        .all()
        .map((it) => ({
          index: it.idx,
          attempt: it.attempt,
          path: it.worktree ?? "",
          repository: it.repository ?? "",
          base: it.base,
        })),

    keptWorktrees: (): string[] =>
      prepare<{ worktree: string }>("SELECT worktree FROM attempt WHERE worktree_state = 'kept'")
        .all()
        .map(({ worktree }) => worktree),

    attempts: attemptsOf,

    /** Of one task, or of all: what its runs may have kept for another try. */
    sessions: (index?: number): { runId: string; session: string | undefined }[] =>
      prepare<AttemptRow>(`SELECT * FROM attempt ${index === undefined ? "" : "WHERE idx = ?"}`)
        .all(...(index === undefined ? [] : [index]))
        .map(({ run_id: runId, session }) => ({ runId, session: session ?? undefined })),

    noteWorktree: atOnce(
      (index: number, attempt: number, state: WorktreeState) =>
        void prepare("UPDATE attempt SET worktree_state = ? WHERE idx = ? AND attempt = ?").run(
          state,
          index,
          attempt,
        ),
    ),

    /** Of an attempt that may have one. */
    keepWorktree: atOnce(
      (index: number, attempt: number) =>
        void prepare(
          "UPDATE attempt SET worktree_state = 'kept' WHERE idx = ? AND attempt = ? AND worktree_state = 'planned'",
        ).run(index, attempt),
    ),

    /** A later attempt works in the worktree of an earlier one. */
    handWorktree: atOnce((index: number, from: number, to: number) => {
      prepare(
        "UPDATE attempt SET (worktree, repository, worktree_state) = (SELECT worktree, repository, worktree_state FROM attempt WHERE idx = ? AND attempt = ?) WHERE idx = ? AND attempt = ?",
      ).run(index, from, index, to);
      prepare("UPDATE attempt SET worktree_state = NULL WHERE idx = ? AND attempt = ?").run(index, from);
    }),

    /** When nothing waits or runs and no worktree is left to be looked at. */
    end: atOnce(() => void prepare("UPDATE fan_out SET ended_at = ? WHERE ended_at IS NULL").run(now())),
    reopen: atOnce(() => void prepare("UPDATE fan_out SET ended_at = NULL").run()),

    /** How a finished task ended. */
    ending(index: number): TaskEnding {
      const task = prepare<TaskRow>("SELECT * FROM task WHERE idx = ?").get(index);
      if (task?.outcome == null) throw new Error(`task ${index} is not finished`);
      const attempts = attemptsOf(index);
      const text = prepare<{ final_text: string }>(
        "SELECT final_text FROM attempt WHERE idx = ? AND final_text IS NOT NULL ORDER BY attempt DESC LIMIT 1",
      ).get(index)?.final_text;
      const kept = attempts.flatMap(({ worktree, worktreeState }) =>
        worktreeState === "kept" && worktree !== undefined ? [worktree] : [],
      );
      return dropUndefined<TaskEnding>({
        fanOutId: row().id,
        index,
        id: task.id,
        provider: task.provider,
        outcome: task.outcome,
        reason: task.reason ?? "",
        attempts: attempts.length,
        runId: attempts.at(-1)?.runId,
        costUsd: sumOf(attempts, "costUsd"),
        turns: sumOf(attempts, "turns"),
        denied: sumOf(attempts, "denied"),
        startedAt: attempts[0]?.startedAt,
        endedAt: task.ended_at ?? "",
        finalText: text,
        worktrees: kept.length === 0 ? undefined : kept,
      });
    },

    /** Indexes of the finished tasks. */
    finished: (): number[] =>
      prepare<{ idx: number }>("SELECT idx FROM task WHERE state = 'finished' ORDER BY idx")
        .all()
        .map(({ idx }) => idx),

    /** All of it as it is at one moment. */
    record: (): FanOutRecord =>
      database.transaction(() => {
        const { id, startedAt, endedAt } = row();
        const tasks = prepare<TaskRow>("SELECT * FROM task ORDER BY idx").all().map(readTask);
        return dropUndefined<FanOutRecord>({ id, startedAt, endedAt, tasks });
      })(),
  };
}

function readIdentity(text: string): ProcessIdentity {
  return processIdentity.parse(JSON.parse(text));
}

function refuseWhileAlive(id: string, supervisor: ProcessIdentity, assumeDead: boolean): void {
  const presence = presenceOf(supervisor);
  if (presence === "gone" || presence === "rebooted") return;
  if (presence === "elsewhere" && assumeDead) return;
  const where =
    presence === "alive" ? "" : " on another machine, or in another pid namespace, where it cannot be seen";
  const hint =
    presence === "alive"
      ? "wait for it, or stop it"
      : "--assume-dead, assumeDead: true, when you know that it is dead";
  throw new AgentHooksRefused([
    { code: "fan_out_busy", path: id, message: `process ${supervisor.pid} runs this fan-out${where}`, hint },
  ]);
}

function now(): string {
  return new Date().toISOString();
}
