// Drives an opened fan-out: takes over what a dead one left, starts what may be started, so many at a time, and writes down how each attempt
// ended. Never starts a task again that has finished, nor one whose earlier run may still live.

import { availableParallelism } from "node:os";
import { mintRunId } from "../spawn/given-run-id.ts";
import { createSupervisor } from "../supervisor/create-supervisor.ts";
import { decideAfter, isOwnStop } from "./after-attempt.ts";
import { createEndings } from "./endings.ts";
import { forgetSessions } from "./forget-sessions.ts";
import type { OpenedFanOut } from "./open-fan-out.ts";
import type { FanOutProgress, FanOutSettings, TaskEnding } from "./options.ts";
import { writeOutcomes } from "./outcomes.ts";
import { type AttemptEnd, runAttempt } from "./run-attempt.ts";
import { toPublic } from "./state-rows.ts";
import { takeOver } from "./take-over.ts";
import { createTaskWorktrees, type Taken } from "./task-worktrees.ts";

/** Why runs are stopped when the iteration is left. */
export const NOT_READ = "the fan-out is not read any more";

export interface Engine {
  /** To be called once. */
  run(): AsyncGenerator<TaskEnding, void, undefined>;
  stop(reason: string): Promise<void>;
}

/** A timer that waits longer is set again. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export function createEngine(
  { state, stateDir, hooks, isResumed }: OpenedFanOut,
  settings: FanOutSettings,
): Engine {
  const {
    concurrency = availableParallelism(),
    startRate,
    totalCostUsd,
    totalSeconds,
    session,
    spawn,
    signal,
  } = settings;
  const { now = Date.now } = settings.backoff ?? {};
  const supervisor = createSupervisor({ concurrency, ...(startRate === undefined ? {} : { startRate }) });
  const { id } = state.row();
  const endings = createEndings<TaskEnding>();
  const beganAt = now();
  let stopped: string | undefined;
  let stopping: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let running = 0;
  let toldReason: string | undefined;
  let wake = () => {};
  let woken = new Promise<void>((resolve) => {
    wake = resolve;
  });

  const notify = () => {
    wake();
    woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
  };
  const stop = (reason: string): Promise<void> => {
    stopped ??= reason;
    stopping ??= supervisor.stop(reason);
    notify();
    return stopping;
  };
  const fail = (error: unknown) => {
    failure ??= { error };
    void stop("an error of the fan-out");
  };
  const say = (progress: FanOutProgress) => {
    try {
      settings.onProgress?.(progress);
    } catch (error) {
      fail(error);
    }
  };
  const warn = (message: string) => say({ type: "warning", message });
  const worktrees = createTaskWorktrees({ state, keep: settings.keepWorktree, warn });
  const tellEnd = async (index: number) => {
    await forgetSessions(stateDir, state.sessions(index)).catch((error: Error) =>
      warn(`the session of task ${index} was left: ${error.message}`),
    );
    const ending = state.ending(index);
    endings.push(ending);
    say({ type: "task_ended", ending });
  };

  /** Why nothing more may be started. */
  const findSpent = (): string | undefined => {
    if (totalSeconds !== undefined && now() - beganAt >= totalSeconds * 1_000)
      return `budget_exceeded: ${totalSeconds} s in total`;
    if (totalCostUsd !== undefined && state.cost() >= totalCostUsd)
      return `budget_exceeded: ${totalCostUsd} USD in total`;
    return undefined;
  };
  const skipRest = async (reason: string) => {
    const given = state.finishWaiting(({ attempts }) => {
      const last = attempts.at(-1);
      return last?.outcome === undefined
        ? { outcome: "skipped", reason }
        : { outcome: last.outcome, reason: `${last.reason}; not tried again: ${reason}` };
    });
    if (toldReason === undefined) say({ type: "admission_stopped", reason });
    toldReason = reason;
    await worktrees.settle();
    for (const index of given) await tellEnd(index);
  };

  /** Waits until a task may be started, and writes its attempt down. Undefined: there is none any more. */
  const take = async (): Promise<Taken | undefined> => {
    for (;;) {
      if (stopped !== undefined) return undefined;
      const spent = findSpent();
      if (spent !== undefined) {
        await skipRest(spent);
        notify();
        return undefined;
      }
      const { task, notBefore } = state.next(now());
      if (task !== undefined) {
        running += 1;
        return worktrees.take(task, mintRunId());
      }
      if (notBefore === undefined && running === 0) return undefined;
      const until = Math.min(
        notBefore ?? Number.POSITIVE_INFINITY,
        totalSeconds === undefined ? Number.POSITIVE_INFINITY : beganAt + totalSeconds * 1_000,
      );
      await waitUntil(until - now(), woken);
    }
  };

  const attemptTask = async (taken: Taken): Promise<void> => {
    const { spec, attempt, attempts } = taken;
    const { index, id: task } = spec;
    const end = await runTaken(taken);
    if (isOwnStop(end)) stopped ??= end.reason;
    const isStopping = stopped !== undefined;
    const after = decideAfter(end, { settings, earlier: attempts, isStopping, now: now() });
    state.endAttempt(index, attempt, end, after);
    const told = state.attempts(index).at(-1);
    const isAgain = after.state === "waiting" && !isStopping;
    const retry = isAgain ? { retryInMs: Math.max(0, after.notBefore - now()) } : {};
    if (told !== undefined)
      say({ type: "attempt_ended", index, id: task, attempt: toPublic(told), ...retry });
    if (after.state === "finished" || after.resume === undefined) await worktrees.leave(taken);
    if (after.state === "finished") await tellEnd(index);
  };

  const runTaken = async (taken: Taken): Promise<AttemptEnd> => {
    const { spec, attempt, runId, resume, worktree, attempts } = taken;
    const { index, id: task } = spec;
    let cwd: string;
    try {
      cwd = await worktrees.enter(taken);
    } catch (error) {
      const reason = `worktree: ${error instanceof Error ? error.message : String(error)}`;
      return { outcome: "failed", reason, class: "deterministic" };
    }
    say({ type: "attempt_started", index, id: task, attempt, runId, cwd });
    return runAttempt({
      supervisor,
      hooks: hooks(spec),
      spec,
      runId,
      cwd,
      resume,
      keepsSession: session === "resume" && settings.retries > 0,
      isAlone: worktree !== undefined,
      earlier: attempts,
      spawn,
      onEvent: (event) => say({ type: "event", index, id: task, event }),
    });
  };

  const work = async () => {
    for (let taken = await take(); taken !== undefined; taken = await take()) {
      try {
        await attemptTask(taken);
      } finally {
        running -= 1;
        notify();
      }
    }
  };

  const drive = async () => {
    const { waiting, running: unended, finished } = state.counts();
    say({
      type: "opened",
      id,
      directory: state.directory,
      tasks: waiting + unended + finished,
      finished,
      isResumed,
    });
    await worktrees.findRepositories(state.specs());
    const ended = await takeOver({ state, stateDir, hooks: hooks.all, settings, say, now });
    await worktrees.settle();
    for (const index of ended) await tellEnd(index);
    const places = Math.max(1, Math.min(concurrency, waiting + unended));
    await Promise.all(Array.from({ length: places }, () => work().catch(fail)));
    const left = state.counts();
    if (failure !== undefined || left.waiting + left.running > 0) return;
    if ((await worktrees.settle()) > 0) return;
    await forgetSessions(stateDir, state.sessions()).catch((error: Error) =>
      warn(`sessions were left: ${error.message}`),
    );
    await worktrees.removeStrays().catch((error: Error) => warn(`worktrees were left: ${error.message}`));
    state.end();
  };

  return {
    stop,
    async *run() {
      const onAbort = () => void stop("aborted");
      if (signal?.aborted === true) onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      const driven = drive().catch(fail).finally(endings.close);
      try {
        yield* endings;
      } finally {
        await stop(NOT_READ);
        await driven;
        signal?.removeEventListener("abort", onAbort);
        await writeOutcomes(state).catch(fail);
        try {
          state.release();
        } finally {
          state.close();
        }
      }
      if (failure !== undefined) throw failure.error;
    },
  };
}

/** Resolves after the time, or when it is woken. */
async function waitUntil(ms: number, woken: Promise<void>): Promise<void> {
  if (ms <= 0) return;
  if (!Number.isFinite(ms)) return woken;
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    woken,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(ms, TIMER_MAX_MS));
    }),
  ]);
  clearTimeout(timer);
}
