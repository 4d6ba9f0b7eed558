// Many runs: a bounded queue in front of spawnAgent. Decides when a run starts and whether it may, and nothing about how it runs.

import { setImmediate as nextTurn } from "node:timers/promises";
import { AgentHooksRefused, refuseIfAny } from "../errors.ts";
import type { SpawnOptions } from "../spawn/options.ts";
import type { AgentRun } from "../spawn/run.ts";
import { refuseShape, spawnOwned } from "../spawn/spawn.ts";
import { checkCapacity } from "./capacity.ts";
import { listLive, onStopping, refuseWhenStopping, SupervisorStopping, stopRuns } from "./live-runs.ts";
import { RunQueue } from "./run-queue.ts";
import { createStartRate } from "./start-rate.ts";
import {
  checkQueueOptions,
  type QueueOptions,
  resolveSupervisorOptions,
  type SupervisorOptions,
} from "./supervisor-options.ts";

export interface Supervisor extends AsyncDisposable {
  /**
   * Waits for a place and starts the run. Resolves and rejects as `spawnAgent` does; the place is held until the result is delivered.
   *
   * @throws AgentHooksRefused also `queue_full`, `capacity_exhausted`, `supervisor_stopping`; the signal's reason.
   */
  run(options: SpawnOptions, queueOptions?: QueueOptions): Promise<AgentRun>;
  /**
   * Takes no more runs, refuses the waiting ones, stops the live ones at once. Resolves when each result is delivered. The first reason
   * counts.
   *
   * @param reason told in each run's reason, after `supervisor_stopping: `. @default "stopped"
   */
  stop(reason?: string): Promise<void>;
  /** Resolves when nothing waits, starts or runs. */
  onIdle(): Promise<void>;
  /** Runs that wait for a place. */
  readonly size: number;
  /** Runs that have a place and are not started yet. */
  readonly pending: number;
  /** Started runs whose result is not delivered. */
  readonly live: number;
}

/**
 * Makes a queue of runs.
 *
 * @throws AgentHooksRefused `option_invalid`
 * @example
 * await using supervisor = createSupervisor({ concurrency: 4 });
 * const runs = await Promise.all(prompts.map((prompt) => supervisor.run({ hooks, prompt, cwd })));
 * const results = await Promise.all(runs.map(({ result }) => result));
 */
export function createSupervisor(options: SupervisorOptions = {}): Supervisor {
  const settings = resolveSupervisorOptions(options);
  const { concurrency, queueLimit, startRate, shutdown, shutdownMs } = settings;
  const owner = {};
  const queue = new RunQueue(concurrency);
  const rate = createStartRate(queue, startRate);
  const tickets = new Map<string, (reason: unknown) => void>();
  let lastId = 0;
  let starting = 0;
  let live = 0;
  let lastStart: Promise<unknown> = Promise.resolve();
  let stopped: { readonly because: string; readonly done: Promise<void> } | undefined;
  let unsubscribe: (() => void) | undefined;

  const refuseWhenStopped = () => {
    refuseWhenStopping();
    if (stopped !== undefined) throw new SupervisorStopping(stopped.because);
  };
  const rejectWaiting = (because: string) => {
    for (const reject of [...tickets.values()]) reject(new SupervisorStopping(because));
  };
  const addTicket = (id: string, reject: (reason: unknown) => void) => {
    tickets.set(id, reject);
    unsubscribe ??= onStopping(rejectWaiting);
  };
  const removeTicket = (id: string) => {
    tickets.delete(id);
    if (tickets.size > 0) return;
    unsubscribe?.();
    unsubscribe = undefined;
  };
  /** One start a turn of the event loop: between two of them everything else is served. */
  const takeStart = () => {
    lastStart = lastStart.then(() => nextTurn());
    return lastStart;
  };

  const start = async (runOptions: SpawnOptions, signal: AbortSignal | undefined): Promise<AgentRun> => {
    starting += 1;
    try {
      await takeStart();
      signal?.throwIfAborted();
      refuseWhenStopped();
      refuseIfAny(checkCapacity(settings, starting));
      return await spawnOwned(owner, {
        ...runOptions,
        shutdown: runOptions.shutdown ?? shutdown,
        deadlines: { shutdownMs, ...runOptions.deadlines },
        ...(signal === undefined ? {} : { signal }),
      });
    } finally {
      starting -= 1;
    }
  };

  const stop = async (because: string) => {
    rejectWaiting(because);
    const runs = listLive().filter((run) => run.owner === owner);
    await stopRuns(runs, { because, budgetMs: shutdownMs });
    await queue.onIdle();
  };

  return {
    async run(runOptions, queueOptions = {}) {
      checkQueueOptions(queueOptions);
      if (typeof runOptions !== "object" || runOptions === null) await refuseShape(runOptions);
      checkQueueOptions({ ...(runOptions.signal === undefined ? {} : { signal: runOptions.signal }) });
      const signal = joinSignals(queueOptions.signal, runOptions.signal);
      refuseWhenStopped();
      signal?.throwIfAborted();
      const isFree = queue.pending < concurrency && queue.size === 0;
      if (!isFree && queue.size >= queueLimit) throw refuseFull(queueLimit);
      const id = String(lastId++);
      return new Promise<AgentRun>((resolve, reject) => {
        const onAbort = () => leave(signal?.reason);
        const close = () => {
          signal?.removeEventListener("abort", onAbort);
          removeTicket(id);
        };
        const leave = (reason: unknown) => {
          close();
          queue.remove(id);
          rate.noteWaiting();
          reject(reason);
        };
        addTicket(id, leave);
        signal?.addEventListener("abort", onAbort, { once: true });
        const { priority = 0 } = queueOptions;
        queue.add(
          async () => {
            close();
            rate.noteStart();
            const run = await start(runOptions, signal).catch(reject);
            if (run === undefined) return;
            live += 1;
            resolve(run);
            await run.result;
            live -= 1;
          },
          { id, priority },
        );
        rate.noteWaiting();
      });
    },
    stop(reason = "stopped") {
      if (stopped !== undefined) return stopped.done;
      let finish = () => {};
      const done = new Promise<void>((resolve) => {
        finish = resolve;
      });
      stopped = { because: reason, done };
      void stop(reason).then(finish);
      return done;
    },
    onIdle: () => queue.onIdle(),
    get size() {
      return queue.size;
    },
    get pending() {
      return starting;
    },
    get live() {
      return live;
    },
    async [Symbol.asyncDispose]() {
      await this.stop("disposed");
    },
  };
}

function joinSignals(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  return one === undefined || other === undefined ? (one ?? other) : AbortSignal.any([one, other]);
}

function refuseFull(queueLimit: number): AgentHooksRefused {
  return new AgentHooksRefused([
    {
      code: "queue_full",
      path: "queueLimit",
      message: `${queueLimit} run(s) wait already`,
      hint: "wait for onIdle or for a result, or raise queueLimit",
    },
  ]);
}
