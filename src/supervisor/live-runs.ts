// The runs of this process, from the first check to the delivered result, and the one way to stop several of them. Knows no signal and no
// queue: it is told.

import { AgentHooksRefused } from "../errors.ts";

/** From the stop of all runs of a process to KILL, for all together. Milliseconds. */
export const SHUTDOWN_MS = 10_000;

/** The refusal of a start, and the reason with which a run's signal is aborted, when the supervisor stops. */
export class SupervisorStopping extends AgentHooksRefused {
  /** A signal's name, `uncaughtException`, or what the caller of a stop said. */
  readonly because: string;

  constructor(because: string) {
    super([
      {
        code: "supervisor_stopping",
        path: "supervisor",
        message: `the supervisor is shutting down: ${because}`,
        hint: "nothing is started any more; start it again when the program is up again",
      },
    ]);
    this.because = because;
  }
}

/** The reason of a run whose signal was aborted. */
export function describeAbort(reason: unknown): string {
  return reason instanceof SupervisorStopping ? `supervisor_stopping: ${reason.because}` : "aborted";
}

export interface EnterOptions {
  /** The caller's. Anything else than an `AbortSignal` is left to the check of the options. */
  readonly signal: unknown;
  /** Of the runs that a supervisor started; undefined for a bare one. */
  readonly owner: object | undefined;
  /** A signal to the process stops it. */
  readonly stopsWithProcess: boolean;
  readonly shutdownMs: number;
}

export interface LiveRun extends Omit<EnterOptions, "signal"> {
  /** Aborted when the caller's is, and when the run is to stop. */
  readonly signal: AbortSignal;
  /** Its result is delivered, or its start was refused. */
  readonly delivered: Promise<void>;
  /** Tells how to kill it, once there is something to kill. */
  onKill(kill: () => void): void;
  /** Asks it to stop, with the grace of its own deadlines. */
  stop(because: string): void;
  /** Ends what there is at once; the run then ends by itself. */
  kill(): void;
  leave(): void;
}

const live = new Set<LiveRun>();
const stopListeners = new Set<(because: string) => void>();
let stopping: string | undefined;

export function listLive(): LiveRun[] {
  return [...live];
}

/** @throws SupervisorStopping when this process is stopping. */
export function refuseWhenStopping(): void {
  if (stopping !== undefined) throw new SupervisorStopping(stopping);
}

/** From here every start refuses. Returns how to take it back; undefined when it stops already. */
export function startStopping(because: string): (() => void) | undefined {
  if (stopping !== undefined) return undefined;
  stopping = because;
  for (const listener of [...stopListeners]) listener(because);
  return () => {
    stopping = undefined;
  };
}

/** Calls the listener when this process begins to stop. Returns how to unsubscribe. */
export function onStopping(listener: (because: string) => void): () => void {
  stopListeners.add(listener);
  return () => void stopListeners.delete(listener);
}

/** @throws SupervisorStopping when this process is stopping. */
export function enterRun({ signal: given, ...rest }: EnterOptions): LiveRun {
  refuseWhenStopping();
  const controller = new AbortController();
  const callers = given instanceof AbortSignal ? given : undefined;
  const forward = () => controller.abort(callers?.reason);
  if (callers?.aborted === true) forward();
  callers?.addEventListener("abort", forward, { once: true });
  let deliver = () => {};
  const delivered = new Promise<void>((resolve) => {
    deliver = resolve;
  });
  let killIt = () => {};
  const run: LiveRun = {
    ...rest,
    signal: controller.signal,
    delivered,
    onKill(kill) {
      killIt = kill;
    },
    stop: (because) => controller.abort(new SupervisorStopping(because)),
    kill: () => killIt(),
    leave() {
      live.delete(run);
      callers?.removeEventListener("abort", forward);
      deliver();
    },
  };
  live.add(run);
  return run;
}

/** Stops runs in parallel, kills what is left after the budget, and waits until each result is delivered. */
export async function stopRuns(
  runs: readonly LiveRun[],
  {
    because,
    budgetMs,
    hurry,
  }: {
    because: string;
    budgetMs: number;
    /** Aborted when there is to be no more grace. */
    hurry?: AbortSignal;
  },
): Promise<void> {
  const killAll = () => {
    for (const run of runs) run.kill();
  };
  for (const run of runs) run.stop(because);
  if (budgetMs === 0) killAll();
  const timer = setTimeout(killAll, budgetMs);
  hurry?.addEventListener("abort", killAll, { once: true });
  await Promise.all(runs.map(({ delivered }) => delivered));
  hurry?.removeEventListener("abort", killAll);
  clearTimeout(timer);
}
