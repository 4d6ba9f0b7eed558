// How the way of a job ends otherwise than well: what its steps throw, and what run-job.ts tells BullMQ of it.

import type { JobOutcome, WaitingPhase } from "./outcome.ts";

/** Thrown out of a step when the job is to be looked at later. It is no attempt. */
export class Later extends Error {
  override readonly name = "Later";
  readonly waitMs: number;
  readonly phase: WaitingPhase;

  constructor(phase: WaitingPhase, reason: string, waitMs: number) {
    super(reason);
    this.phase = phase;
    this.waitMs = waitMs;
  }
}

/** Thrown by the step that ends a transient failure: BullMQ's backoff reads it. */
export class TransientFailure extends Error {
  override readonly name = "TransientFailure";
  /** Milliseconds since the epoch. */
  readonly retryAt: number | undefined;

  constructor(message: string, retryAt: number | undefined) {
    super(message);
    this.retryAt = retryAt;
  }
}

/** The attempt ended otherwise than well. */
export class JobFailed extends Error {
  override readonly name = "JobFailed";
  readonly outcome: JobOutcome;
  readonly isFinal: boolean;
  readonly retryAt: number | undefined;

  constructor(outcome: JobOutcome, isFinal: boolean, retryAt?: number) {
    super(`${outcome.outcome}: ${outcome.reason}`);
    this.outcome = outcome;
    this.isFinal = isFinal;
    this.retryAt = retryAt;
  }
}

/** The worker is being closed: the job is another's again. */
export class HandedBack extends Error {
  override readonly name = "HandedBack";
}
