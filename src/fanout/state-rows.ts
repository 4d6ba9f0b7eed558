// The rows of a fan-out's state, and what they are outside of it.

import type { JsonObject } from "../json.ts";
import type { EndingClass } from "../retry/classify-ending.ts";
import type { AttemptRecord, TaskOutcome, TaskRecord } from "./record.ts";
import { dropUndefined, type TaskSpec } from "./task.ts";

export interface NewFanOut {
  readonly id: string;
  readonly digest: string;
  readonly source: string | undefined;
  readonly note: JsonObject;
  readonly specs: readonly TaskSpec[];
  /** Commits of the worktrees, by index of the task. */
  readonly bases: ReadonlyMap<number, string>;
}

export interface FanOutRow {
  readonly id: string;
  readonly startedAt: string;
  readonly endedAt: string | undefined;
  readonly digest: string;
  readonly source: string | undefined;
  readonly note: JsonObject;
}

/** A task that may be started now. */
export interface ReadyTask {
  readonly spec: TaskSpec;
  /** Commit that its worktree shows. */
  readonly base: string | undefined;
  /** Session of the provider to go on with. */
  readonly resume: string | undefined;
  readonly attempts: readonly StoredAttempt[];
}

export interface StoredAttempt extends AttemptRecord {
  readonly runId: string;
  readonly class?: EndingClass;
  readonly durationMs?: number;
  readonly worktree?: string;
  readonly repository?: string;
  readonly worktreeState?: WorktreeState;
}

/** `planned`: it may be there. */
export type WorktreeState = "planned" | "removed" | "kept";

export interface NewAttempt {
  readonly runId: string;
  readonly worktree?: { readonly path: string; readonly repository: string } | undefined;
}

export interface EndedAttempt {
  readonly outcome: TaskOutcome;
  readonly reason: string;
  readonly class: EndingClass;
  readonly costUsd?: number | undefined;
  readonly turns?: number | undefined;
  readonly denied?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly finalText?: string | undefined;
  /** The provider's. */
  readonly providerSessionId?: string | undefined;
}

/** What becomes of the task. */
export type AfterAttempt =
  | { readonly state: "finished"; readonly outcome: TaskOutcome; readonly reason: string }
  /** `notBefore`: milliseconds since the epoch. */
  | { readonly state: "waiting"; readonly notBefore: number; readonly resume?: string | undefined };

export interface LostAttempt {
  readonly spec: TaskSpec;
  readonly attempt: number;
  readonly runId: string;
}

export interface PlannedWorktree {
  readonly index: number;
  readonly attempt: number;
  readonly path: string;
  readonly repository: string;
  readonly base: string;
}

export interface TaskRow {
  idx: number;
  id: string;
  provider: TaskSpec["provider"];
  spec: string;
  base: string | null;
  state: TaskRecord["state"];
  outcome: TaskOutcome | null;
  reason: string | null;
  ended_at: string | null;
  not_before: number;
  resume: string | null;
}

export interface AttemptRow {
  idx: number;
  attempt: number;
  run_id: string;
  started_at: string;
  ended_at: string | null;
  outcome: TaskOutcome | null;
  reason: string | null;
  class: EndingClass | null;
  cost_usd: number | null;
  turns: number | null;
  denied: number | null;
  duration_ms: number | null;
  final_text: string | null;
  session: string | null;
  worktree: string | null;
  repository: string | null;
  worktree_state: WorktreeState | null;
}

export function toAttempt(row: AttemptRow): StoredAttempt {
  return dropUndefined<StoredAttempt>({
    attempt: row.attempt,
    runId: row.run_id,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    outcome: row.outcome ?? undefined,
    reason: row.reason ?? undefined,
    costUsd: row.cost_usd ?? undefined,
    turns: row.turns ?? undefined,
    denied: row.denied ?? undefined,
    class: row.class ?? undefined,
    durationMs: row.duration_ms ?? undefined,
    worktree: row.worktree ?? undefined,
    repository: row.repository ?? undefined,
    worktreeState: row.worktree_state ?? undefined,
  });
}

export function toPublic(stored: StoredAttempt): AttemptRecord {
  const {
    class: _class,
    durationMs: _ms,
    worktree: _path,
    repository: _repository,
    worktreeState: _state,
    ...attempt
  } = stored;
  return attempt;
}

export function sumOf(
  attempts: readonly AttemptRecord[],
  name: "costUsd" | "turns" | "denied",
): number | undefined {
  const known = attempts.flatMap((attempt) => attempt[name] ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}
