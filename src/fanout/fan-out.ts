// Many tasks, each an agent's run, so many at a time: durable, with budgets and further tries. Never starts a task again that has
// finished, nor one whose earlier run may still live.

import { existsSync, rmdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { importZod } from "../packages.ts";
import { backoffMs } from "../retry/backoff.ts";
import { classifyEnding } from "../retry/classify-ending.ts";
import { mintRunId } from "../spawn/given-run-id.ts";
import { createSupervisor } from "../supervisor/create-supervisor.ts";
import { createEndings } from "./endings.ts";
import { forgetSessions } from "./forget-sessions.ts";
import { settleWorktree } from "./keep-worktrees.ts";
import { type OpenedFanOut, openFanOut } from "./open-fan-out.ts";
import {
  type FanOutOptions,
  type FanOutProgress,
  type FanOutSettings,
  resolveFanOutOptions,
  type TaskEnding,
} from "./options.ts";
import { writeOutcomes } from "./outcomes.ts";
import { readTasks } from "./read-tasks.ts";
import { recoverTasks } from "./recover-tasks.ts";
import { type AttemptEnd, runAttempt } from "./run-attempt.ts";
import type { AfterAttempt, ReadyTask, StoredAttempt } from "./state.ts";
import type { FanOutTask, PlacedTask, TaskSpec } from "./task.ts";
import { addWorktree, findRepository, listWorktrees, type Repository, removeWorktree } from "./worktree.ts";

/** The tasks that end while it is read, in the order in which they do. To be read once. */
export interface FanOut extends AsyncIterable<TaskEnding> {
  /**
   * Starts nothing more and stops what runs; the iteration then ends. What was stopped or did not start is left for a resume.
   *
   * @param reason told in the reason of each run. @default "stopped"
   */
  stop(reason?: string): Promise<void>;
}

/**
 * Runs a task for each of many. Nothing begins before it is iterated; leaving the iteration stops it.
 *
 * @param tasks undefined: those of `options.resume`.
 * @throws AgentHooksRefused from the first step of the iteration, before anything is started: every problem of the tasks, the options and
 *   the hooks; `fan_out_busy`, `fan_out_mismatch`, `store_unavailable`.
 * @example
 * const tasks = files.map((file) => ({ id: file, file }));
 * for await (const { id, outcome, reason } of fanOut(tasks, { provider: "codex", prompt: "Fix {{file}}", worktree: true }))
 *   console.log(id, outcome, reason);
 */
export function fanOut(
  tasks: Iterable<FanOutTask> | AsyncIterable<FanOutTask> | undefined,
  options: FanOutOptions = {},
): FanOut {
  return createFanOut(async () => (tasks === undefined ? undefined : await placeTasks(tasks)), options);
}

/** As `fanOut`, with the tasks of a JSONL, YAML or CSV file. */
export function fanOutFile(path: string, options: FanOutOptions = {}): FanOut {
  return createFanOut(() => readTasks(path), { source: path, ...options });
}

async function placeTasks(tasks: Iterable<FanOutTask> | AsyncIterable<FanOutTask>): Promise<PlacedTask[]> {
  const placed: PlacedTask[] = [];
  for await (const task of tasks) placed.push({ task, place: `tasks[${placed.length}]` });
  return placed;
}

function createFanOut(read: () => Promise<PlacedTask[] | undefined>, options: FanOutOptions): FanOut {
  let askedToStop: string | undefined;
  let engine: Engine | undefined;
  let isRead = false;
  async function* iterate(): AsyncGenerator<TaskEnding, void, undefined> {
    await importZod();
    const settings = resolveFanOutOptions(options);
    const opened = await openFanOut(await read(), settings);
    engine = createEngine(opened, settings);
    if (askedToStop !== undefined) void engine.stop(askedToStop);
    yield* engine.run();
  }
  return {
    async stop(reason = "stopped") {
      askedToStop ??= reason;
      await engine?.stop(askedToStop);
    },
    [Symbol.asyncIterator]() {
      if (isRead) throw new Error("a fan-out is iterated once");
      isRead = true;
      return iterate();
    },
  };
}

interface Engine {
  run(): AsyncGenerator<TaskEnding, void, undefined>;
  stop(reason: string): Promise<void>;
}

/** A task that was taken, and the attempt that was written down for it. */
interface Taken extends ReadyTask {
  readonly attempt: number;
  readonly runId: string;
  /** Where a worktree is to be made, or is; an Error: it cannot be made. */
  readonly worktree: PlacedWorktree | Error | undefined;
}

interface PlacedWorktree {
  readonly path: string;
  readonly repository: Repository;
  /** It is there from an earlier attempt, whose session goes on in it. */
  readonly isThere: boolean;
}

const isPlaced = (worktree: Taken["worktree"]): worktree is PlacedWorktree =>
  worktree !== undefined && !(worktree instanceof Error);

/** A timer that waits longer is set again. */
const TIMER_MAX_MS = 2 ** 31 - 1;

function createEngine({ state, stateDir, hooks, isResumed }: OpenedFanOut, settings: FanOutSettings): Engine {
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
  /** By the tasks' working directories; an Error where there is none any more. */
  const repositories = new Map<string, Repository | Error>();
  const beganAt = now();
  const worktreesFolder = join(state.directory, "worktrees");
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
  const findRepositories = async (specs: readonly TaskSpec[]) => {
    for (const { cwd, worktree } of specs)
      if (worktree && !repositories.has(cwd))
        repositories.set(cwd, await findRepository(cwd).catch((error: Error) => error));
  };
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
    await settleWorktrees();
    for (const index of given) await tellEnd(index);
  };

  /** Worktrees that no task uses any more. Returns how many could not be settled. */
  const settleWorktrees = async (): Promise<number> => {
    let left = 0;
    for (const planned of state.plannedWorktrees()) {
      await settleWorktree(state, planned, settings.keepWorktree).catch((error: Error) => {
        left += 1;
        warn(`${planned.path} was left: ${error.message}`);
      });
    }
    return left;
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
        return begin(task);
      }
      if (notBefore === undefined && running === 0) return undefined;
      const until = Math.min(
        notBefore ?? Number.POSITIVE_INFINITY,
        totalSeconds === undefined ? Number.POSITIVE_INFINITY : beganAt + totalSeconds * 1_000,
      );
      await waitUntil(until - now(), woken);
    }
  };

  /** Without a pause: nobody else takes the task. */
  const begin = (task: ReadyTask): Taken => {
    const { spec, attempts, resume } = task;
    const runId = mintRunId();
    const { index } = spec;
    const repository = spec.worktree ? repositories.get(spec.cwd) : undefined;
    if (repository === undefined || repository instanceof Error)
      return { ...task, runId, attempt: state.startAttempt(index, { runId }), worktree: repository };
    const last = attempts.at(-1);
    const isThere =
      last?.worktreeState === "planned" && last.worktree !== undefined && existsSync(last.worktree);
    if (resume !== undefined && isThere) {
      const path = last.worktree;
      const attempt = state.startAttempt(index, { runId });
      state.handWorktree(index, last.attempt, attempt);
      return { ...task, runId, attempt, worktree: { path, repository, isThere } };
    }
    const path = join(worktreesFolder, `${index}-${runId.slice(0, 8)}`);
    const attempt = state.startAttempt(index, { runId, worktree: { path, repository: repository.root } });
    return { ...task, resume: undefined, runId, attempt, worktree: { path, repository, isThere: false } };
  };

  const attemptTask = async (taken: Taken): Promise<void> => {
    const { spec, attempt, attempts } = taken;
    const end = await runTaken(taken);
    if (end.reason.startsWith("supervisor_stopping")) stopped ??= end.reason;
    const after = decide(end, attempts);
    state.endAttempt(spec.index, attempt, end, after);
    const told = state.attempts(spec.index).at(-1);
    const retry =
      after.state === "waiting" && stopped === undefined
        ? { retryInMs: Math.max(0, after.notBefore - now()) }
        : {};
    if (told !== undefined)
      say({ type: "attempt_ended", index: spec.index, id: spec.id, attempt: told, ...retry });
    if (isPlaced(taken.worktree) && (after.state === "finished" || after.resume === undefined)) {
      const planned = {
        index: spec.index,
        attempt,
        path: taken.worktree.path,
        repository: taken.worktree.repository.root,
        base: taken.base ?? "",
      };
      await settleWorktree(state, planned, settings.keepWorktree).catch((error: Error) =>
        warn(`${planned.path} was left for now: ${error.message}`),
      );
    }
    if (after.state === "finished") await tellEnd(spec.index);
  };

  const runTaken = async ({
    spec,
    attempt,
    runId,
    resume,
    worktree,
    base,
    attempts,
  }: Taken): Promise<AttemptEnd> => {
    let cwd = spec.cwd;
    const noWorktree = (why: string): AttemptEnd => ({
      outcome: "failed",
      reason: `worktree: ${why}`,
      class: "deterministic",
    });
    if (worktree instanceof Error) return noWorktree(worktree.message);
    if (worktree !== undefined) {
      const { path, repository, isThere } = worktree;
      cwd = join(path, repository.below);
      if (!isThere) {
        const failed = await addWorktree(repository.root, path, base ?? "").then(
          () => undefined,
          (error: Error) => error.message,
        );
        if (failed !== undefined) return noWorktree(failed);
      }
    }
    say({ type: "attempt_started", index: spec.index, id: spec.id, attempt, runId, cwd });
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
      onEvent: (event) => say({ type: "event", index: spec.index, id: spec.id, event }),
    });
  };

  const decide = (end: AttemptEnd, earlier: readonly StoredAttempt[]): AfterAttempt => {
    const { outcome, reason, retryAt, providerSessionId } = end;
    const resume = session === "resume" ? providerSessionId : undefined;
    const finished = { state: "finished", outcome, reason } as const;
    if (end.class === "interrupted" && (stopped !== undefined || settings.onInterrupted === "retry"))
      return { state: "waiting", notBefore: 0, resume };
    if (end.class !== "transient") return finished;
    const failures = 1 + earlier.filter((attempt) => attempt.class === "transient").length;
    if (failures > settings.retries) return finished;
    if (retryAt !== undefined && retryAt - now() > settings.longestWaitMs) {
      const resets = new Date(retryAt).toISOString();
      return {
        ...finished,
        reason: `${reason}; not tried again: the limit resets at ${resets}, which is too long to wait`,
      };
    }
    return { state: "waiting", notBefore: now() + backoffMs(failures, retryAt, settings.backoff), resume };
  };

  /** Of the runs that a dead fan-out left. */
  const recover = async () => {
    const unended = state.unended();
    const env = spawn?.baseEnv ?? process.env;
    const recovered = await recoverTasks(
      unended.map(({ runId }) => runId),
      { stateDir, hooks: hooks.all, env, assumeDead: settings.assumeDead ?? false },
    );
    for (const [at, { runId, outcome, reason, isDead, problems }] of recovered.entries()) {
      const lost = unended[at];
      if (lost === undefined) continue;
      const { spec, attempt } = lost;
      for (const problem of problems) warn(`run ${runId} of task ${spec.id}: ${problem}`);
      const { class: kind, retryAt } = classifyEnding({ outcome, reason }, now());
      const end: AttemptEnd = { outcome, reason, class: kind, retryAt };
      const isOwnStop = kind === "interrupted" && reason.startsWith("supervisor_stopping");
      const isAgain = isDead && ((outcome === "lost" && settings.onLost === "retry") || isOwnStop);
      const earlier = state.attempts(spec.index).filter((it) => it.attempt !== attempt);
      const finished = { state: "finished", outcome, reason } as const;
      const again = { state: "waiting", notBefore: 0 } as const;
      const after = isAgain ? again : isDead ? decide(end, earlier) : finished;
      state.endAttempt(spec.index, attempt, end, after);
      say({ type: "recovered", index: spec.index, id: spec.id, runId, outcome, reason });
      if (after.state === "finished") await tellEnd(spec.index);
    }
    await settleWorktrees();
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

  /** What a git that outlived its fan-out made late. */
  const removeStrays = async () => {
    const kept = new Set(state.keptWorktrees());
    const specs = state.specs().filter(({ worktree }) => worktree);
    await findRepositories(specs);
    const found = [...repositories.values()].flatMap((it) => (it instanceof Error ? [] : it));
    for (const root of new Set(found.map((it) => it.root))) {
      for (const path of await listWorktrees(root, worktreesFolder))
        if (!kept.has(path)) await removeWorktree(root, path);
    }
    try {
      rmdirSync(worktreesFolder);
    } catch {
      // kept ones are in it, or there were none
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
    await findRepositories(state.specs());
    await recover();
    const places = Math.max(1, Math.min(concurrency, waiting + unended));
    await Promise.all(Array.from({ length: places }, () => work().catch(fail)));
    const left = state.counts();
    if (failure !== undefined || left.waiting + left.running > 0) return;
    if ((await settleWorktrees()) > 0) return;
    await forgetSessions(stateDir, state.sessions()).catch((error: Error) =>
      warn(`sessions were left: ${error.message}`),
    );
    await removeStrays().catch((error: Error) => warn(`worktrees were left: ${error.message}`));
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
        await stop("the fan-out is not read any more");
        await driven;
        signal?.removeEventListener("abort", onAbort);
        await writeOutcomes(state).catch(fail);
        state.release();
        state.close();
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
