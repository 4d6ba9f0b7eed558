// What a job's end and its progress look like to those who wait for it. Pure.

import type { Provider } from "../profile/events.ts";
import type { RunResult } from "../spawn/result.ts";
import type { Outcome } from "../spawn/settle.ts";

/** How an attempt ended. The value of a completed job; of a failed one in its progress. */
export interface JobOutcome {
  /** `refused`: a check said no, and nothing was handed over. */
  readonly outcome: Outcome;
  readonly reason: string;
  /** The run's, which names its receipts on the worker's machine. Unknown when it was refused before it had one. */
  readonly runId?: string;
  readonly provider: Provider;
  /** What the agent said last, at most 65536 characters. */
  readonly finalText?: string;
  readonly costUsd?: number;
  readonly turns?: number;
  readonly durationMs?: number;
  /** Hook calls that were answered with a deny. */
  readonly denied?: number;
  /** `proven`, `swept` or `unproven`. */
  readonly extinction?: string;
  /** From 1: how often a worker took the job up, also when it then had to wait. */
  readonly attempt: number;
  /** Host and pid of the worker. */
  readonly worker: string;
}

/** `waiting_for_machine`: it has no room for one more agent. */
export type WaitingPhase = "waiting_for_workspace" | "waiting_for_account" | "waiting_for_machine";

export interface JobProgress {
  readonly phase: WaitingPhase | "starting" | "running" | "ended";
  /** Why it waits. */
  readonly reason?: string;
  readonly runId?: string;
  readonly worker: string;
  readonly lastTool?: string;
  readonly denials: number;
  readonly costUsd?: number;
  /** UTC, ISO 8601. */
  readonly at: string;
  /** Of `ended`. */
  readonly outcome?: JobOutcome;
}

const TEXT_MAX = 65_536;

export function toOutcome(
  { runId, provider, outcome, reason, ...result }: RunResult,
  where: Pick<JobOutcome, "attempt" | "worker">,
): JobOutcome {
  const { finalText, costUsd, turns, durationMs, hooks, extinction } = result;
  return {
    outcome,
    reason,
    runId,
    provider,
    ...(finalText === undefined ? {} : { finalText: finalText.slice(0, TEXT_MAX) }),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(turns === undefined ? {} : { turns }),
    durationMs: Math.round(durationMs),
    denied: hooks.denied,
    extinction: extinction.state,
    ...where,
  };
}
