// Names the steps of a run, so that a test can stop the supervisor at each of them. In production nobody listens.

export const STEPS = [
  "before_prompt",
  "prompt_passed",
  "held",
  "journal_written",
  "admitted",
  "receipts_opened",
  "temporary_directory_made",
  "run_directory_made",
  "prepared",
  "broker_opened",
  "child_started",
  "watched",
  "started",
  "released",
  "attested",
  "prompt_handed_over",
  "tree_gone",
  "run_directory_removed",
  "exit_started",
  "exit_ran",
  "ended",
  "unwatched",
  "result_delivered",
] as const;

export type Step = (typeof STEPS)[number];

let listen: ((step: Step, runId: string) => void) | undefined;

/** @internal For tests. */
export function listenToSteps(listener: (step: Step, runId: string) => void): void {
  listen = listener;
}

export function reach(step: Step, runId: string): void {
  listen?.(step, runId);
}
