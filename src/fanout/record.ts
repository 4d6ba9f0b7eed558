// What is known of a fan-out, as its state holds it: the same shape for resuming, for the results and for reports.

import type { Provider } from "../profile/events.ts";
import type { Outcome } from "../spawn/settle.ts";

/** `refused`: a check failed before or at the start, nothing was handed over. `skipped`: a budget or a stop kept it from being started. */
export type TaskOutcome = Outcome | "lost" | "skipped";

/** One start of an agent for a task. */
export interface AttemptRecord {
  /** From 1. */
  readonly attempt: number;
  /** The run's, which names its receipts. Unknown for a start that was refused before it had one. */
  readonly runId?: string;
  /** UTC, ISO 8601. */
  readonly startedAt: string;
  /** UTC, ISO 8601. Not there while it runs. */
  readonly endedAt?: string;
  readonly outcome?: TaskOutcome;
  readonly reason?: string;
  readonly costUsd?: number;
  readonly turns?: number;
  /** Hook calls that were answered with a deny. */
  readonly denied?: number;
}

export interface TaskRecord {
  /** Position among the tasks, from 0. */
  readonly index: number;
  /** The task's own name, unique within the fan-out. */
  readonly id: string;
  readonly provider: Provider;
  readonly state: "waiting" | "running" | "finished";
  /** Of a finished task: exactly one. */
  readonly outcome?: TaskOutcome;
  readonly reason?: string;
  readonly attempts: readonly AttemptRecord[];
}

export interface FanOutRecord {
  /** UUID. */
  readonly id: string;
  /** UTC, ISO 8601. */
  readonly startedAt: string;
  /** Of the last task. Not there while tasks are left. */
  readonly endedAt?: string;
  /** By index. */
  readonly tasks: readonly TaskRecord[];
}
