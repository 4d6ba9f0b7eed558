// What is known of a fan-out while it runs, from what it says of itself: for the view and for the lines. Pure.

import type { FanOutProgress } from "../../fanout/index.ts";

export type Phase = "starting" | "thinking" | "tool" | "ending";

export interface LiveRun {
  readonly id: string;
  readonly index: number;
  readonly attempt: number;
  phase: Phase;
  /** The last call. */
  tool: string;
  denied: number;
  costUsd: number | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

export interface Progress {
  readonly live: ReadonlyMap<number, LiveRun>;
  readonly total: number;
  readonly finished: number;
  /** Of them, those that are no success. */
  readonly failed: number;
  /** Tasks that wait for another try. */
  readonly retrying: number;
  readonly costUsd: number;
  readonly denied: number;
  /** When the first attempt of this process began; milliseconds since the epoch. */
  readonly beganAt: number | undefined;
  /** Finished by this process. */
  readonly done: number;
  note(progress: FanOutProgress, now: number): void;
}

export function createProgress(): Progress {
  const live = new Map<number, LiveRun>();
  const retrying = new Set<number>();
  const sums = { total: 0, finished: 0, failed: 0, costUsd: 0, denied: 0, done: 0 };
  let beganAt: number | undefined;
  return {
    live,
    get total() {
      return sums.total;
    },
    get finished() {
      return sums.finished;
    },
    get failed() {
      return sums.failed;
    },
    get retrying() {
      return retrying.size;
    },
    get costUsd() {
      return sums.costUsd;
    },
    get denied() {
      return sums.denied;
    },
    get beganAt() {
      return beganAt;
    },
    get done() {
      return sums.done;
    },
    note(progress, now) {
      switch (progress.type) {
        case "opened":
          sums.total = progress.tasks;
          sums.finished = progress.finished;
          return;
        case "attempt_started": {
          const { id, index, attempt } = progress;
          beganAt ??= now;
          retrying.delete(index);
          live.set(index, {
            id,
            index,
            attempt,
            phase: "starting",
            tool: "",
            denied: 0,
            costUsd: undefined,
            startedAt: now,
          });
          return;
        }
        case "event": {
          const run = live.get(progress.index);
          if (run !== undefined) noteEvent(run, progress.event);
          return;
        }
        case "attempt_ended":
          live.delete(progress.index);
          sums.costUsd += progress.attempt.costUsd ?? 0;
          sums.denied += progress.attempt.denied ?? 0;
          if (progress.retryInMs !== undefined) retrying.add(progress.index);
          return;
        case "task_ended":
          retrying.delete(progress.ending.index);
          sums.finished += 1;
          if (progress.ending.attempts > 0) sums.done += 1;
          if (progress.ending.outcome !== "success") sums.failed += 1;
          return;
      }
    },
  };
}

function noteEvent(run: LiveRun, event: Extract<FanOutProgress, { type: "event" }>["event"]): void {
  switch (event.type) {
    case "session":
    case "message":
    case "tool_result":
      run.phase = "thinking";
      return;
    case "tool_call":
      run.phase = "tool";
      run.tool = event.name;
      return;
    case "hook":
      if (event.decision === "deny") run.denied += 1;
      if (event.event === "PreToolUse" && event.toolName !== undefined) run.tool = event.toolName;
      return;
    case "usage":
      run.costUsd = event.costUsd ?? run.costUsd;
      return;
    case "result":
      run.phase = "ending";
      return;
  }
}
