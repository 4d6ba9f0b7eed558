// A job's progress, at most one write at a time and one an interval: an agent that calls hundreds of tools must not flood Redis. Must never
// hold a run up, and never fail it.

import type { AgentEvent } from "../spawn/events.ts";
import type { JobProgress } from "./outcome.ts";

export interface ProgressReporter {
  note(event: AgentEvent): void;
  change(changes: Partial<JobProgress>): void;
  /** Writes nothing more: the job is another's. */
  stop(): void;
  /** Writes the last state, once what is being written is through. Never rejects. */
  flush(changes: Partial<JobProgress>): Promise<void>;
}

export function createProgressReporter({
  write,
  worker,
  everyMs,
  onProblem,
}: {
  write: (progress: JobProgress) => Promise<void>;
  worker: string;
  everyMs: number;
  onProblem: (error: unknown) => void;
}): ProgressReporter {
  let state: JobProgress = { phase: "starting", worker, denials: 0, at: new Date().toISOString() };
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isWriting = false;
  let isDirty = false;
  let isOver = false;

  const writeNow = () => {
    timer = undefined;
    if (isOver) return;
    if (isWriting) {
      isDirty = true;
      return;
    }
    isWriting = true;
    isDirty = false;
    writing = write(state)
      .catch(onProblem)
      .finally(() => {
        isWriting = false;
        if (isDirty) schedule();
      });
  };
  const schedule = () => {
    timer ??= setTimeout(writeNow, everyMs);
    timer.unref();
  };
  const change = (changes: Partial<JobProgress>) => {
    state = { ...state, ...changes, at: new Date().toISOString() };
    schedule();
  };

  return {
    note(event) {
      if (event.type === "tool_call") change({ lastTool: event.name });
      else if (event.type === "hook") {
        const tool = event.toolName === undefined ? {} : { lastTool: event.toolName };
        const denials = state.denials + (event.decision === "deny" ? 1 : 0);
        change({ ...tool, denials });
      } else if (event.type === "usage" && event.costUsd !== undefined) change({ costUsd: event.costUsd });
    },
    change,
    stop() {
      isOver = true;
      clearTimeout(timer);
    },
    async flush(changes) {
      clearTimeout(timer);
      state = { ...state, ...changes, at: new Date().toISOString() };
      isOver = true;
      await writing;
      await write(state).catch(onProblem);
    },
  };
}
