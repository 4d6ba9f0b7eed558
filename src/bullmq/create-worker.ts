// createAgentWorker: takes jobs out of a queue and runs each through a supervisor, under the guards that it was told to accept.

import { setTimeout as delay } from "node:timers/promises";
import type { RenderedHooks } from "../compiler/token.ts";
import { recoverRuns } from "../journal/recover.ts";
import { messageOf } from "../message-of.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { backoffMs } from "../retry/backoff.ts";
import { createSupervisor } from "../supervisor/create-supervisor.ts";
import { closeClients, endsWithin, failCommands, listClients } from "./give-up.ts";
import type { JobContext } from "./held-job.ts";
import { TransientFailure } from "./job-ends.ts";
import { createLeaseKeeper } from "./lease-keeper.ts";
import { type Job, loadBullMq } from "./load-bullmq.ts";
import { redisCommands } from "./redis-commands.ts";
import { cancelKey } from "./redis-keys.ts";
import { runJob } from "./run-job.ts";
import { type AgentWorkerOptions, resolveWorkerOptions } from "./worker-options.ts";

export interface AgentWorker extends AsyncDisposable {
  /** Jobs that this worker has now. */
  readonly active: number;
  /**
   * Takes no more jobs, waits `graceMs` for those that run, stops the rest and hands their jobs back to the queue. Resolves when nothing is left.
   * When Redis does not take them back within 10 s of the end of the agents, it is left to the leases to do so. A later call stops the agents now,
   * and does not wait for a Redis that is away.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Lost runs are looked for this often, beside the start and each take-over. */
const RECOVER_MS = 30_000;
/** Between two looks for a Redis that is away. */
const RECONNECT_MS = 1_000;
/** From the end of the agents until Redis has taken their jobs back. */
const HAND_BACK_MS = 10_000;
/** From when Redis was given up until what waited for it has seen that. */
const GIVE_UP_MS = 3_000;

/**
 * Starts a worker. Before the first job, runs that dead programs left in the state directory are ended and their `agent_exit` delivered.
 *
 * @throws AgentHooksRefused `option_invalid`, `queue_unavailable`
 * @example
 * await using worker = await createAgentWorker({
 *   connection: "redis://127.0.0.1:6379", name: "agents", allow: { digests: [digest] }, roots: ["/srv/projects"],
 * });
 */
export async function createAgentWorker(options: AgentWorkerOptions): Promise<AgentWorker> {
  const settings = resolveWorkerOptions(options);
  const { name, prefix, concurrency, leaseMs, stallMs, maxTakeOvers, env, onProblem } = settings;
  const bull = await loadBullMq();
  const stateDir = stateDirectory(env);
  // Waits for a Redis that went away.
  const connection = {
    ...settings.connection,
    maxRetriesPerRequest: null,
    retryStrategy: () => RECONNECT_MS,
  };
  const queue = new bull.Queue(name, { connection, prefix });
  const onRedisError = (error: Error) => onProblem({ kind: "redis", message: messageOf(error) });
  queue.on("error", onRedisError);
  const client = await queue.client;
  const keeper = createLeaseKeeper({
    connection: settings.connection,
    name,
    prefix,
    leaseMs,
    stallMs,
    stateDir,
    onProblem: (message) => onProblem({ kind: "lease", message }),
  });
  const stopping = new AbortController();
  const abandoned = new AbortController();
  const tokens: RenderedHooks[] = [];
  const context: JobContext = {
    bull,
    queue,
    settings,
    client,
    commands: redisCommands(client),
    keeper,
    supervisor: createSupervisor({ concurrency, shutdown: "off" }),
    liveAttempts: new Set(),
    tokens,
    stopping: stopping.signal,
    abandoned: abandoned.signal,
  };

  const told = new Set<string>();
  const recover = async () => {
    try {
      for (const { runId, state, problems } of await recoverRuns({ stateDir, env, hooks: tokens })) {
        if (problems.length === 0 || state === "running" || told.has(runId)) continue;
        told.add(runId);
        onProblem({ kind: "recovery", message: `run ${runId} is ${state}: ${problems.join("; ")}` });
      }
    } catch (error) {
      onProblem({ kind: "recovery", message: messageOf(error) });
    }
  };
  await recover();
  const recovering = setInterval(() => void recover(), RECOVER_MS);
  recovering.unref();

  /** Each until nothing more is said of it. */
  const jobs = new Set<Promise<unknown>>();
  const take = async (job: Job, token: string | undefined) => {
    const running = runJob(job, token ?? "", context);
    jobs.add(running);
    try {
      const outcome = await running;
      if (!abandoned.signal.aborted) return outcome;
    } catch (error) {
      if (!abandoned.signal.aborted) throw error;
    } finally {
      jobs.delete(running);
    }
    // Its lease says the rest; BullMQ does nothing more.
    throw new bull.WaitingError("the worker was closed while Redis was away");
  };
  const worker = new bull.Worker(name, take, {
    connection,
    prefix,
    concurrency,
    lockDuration: leaseMs,
    stalledInterval: Math.max(500, Math.round(leaseMs / 2)),
    maxStalledCount: maxTakeOvers,
    // The lease thread does that.
    skipLockRenewal: true,
    settings: {
      backoffStrategy: (failures: number, _type?: string, error?: Error) =>
        backoffMs(Math.max(1, failures), error instanceof TransientFailure ? error.retryAt : undefined),
    },
  });
  worker.on("error", onRedisError);
  const clients = await listClients(worker, client);
  // A cancel that came too late must not hit another job of the same id; one whose job is not settled yet must hit it.
  const forgetCancel = (job: Job | undefined) => {
    if (job?.id === undefined || job.finishedOn === undefined) return;
    client.del(cancelKey(name, job.id)).catch(onRedisError);
  };
  worker.on("completed", forgetCancel);
  worker.on("failed", forgetCancel);

  let isHurried = false;
  const close = async (graceMs: number) => {
    await worker.pause(true);
    const until = performance.now() + graceMs;
    while (context.liveAttempts.size > 0 && !isHurried && performance.now() < until) await delay(50);
    stopping.abort(new Error("the worker is being closed"));
    await context.supervisor.stop("worker closed");
    const isRedisAway = () => client.status !== "ready";
    const isGivenUp = () => isHurried && isRedisAway();
    const isHandedBack = await endsWithin(Promise.allSettled(jobs), HAND_BACK_MS, isGivenUp);
    // While its connection is being made again that never resolves, not even when it is made.
    const workerClosed = worker.close();
    const isClosed = isHandedBack && (await endsWithin(workerClosed, HAND_BACK_MS, isRedisAway));
    clearInterval(recovering);
    if (!isClosed) {
      if (!isHandedBack)
        onProblem({ kind: "redis", message: "it is away: the jobs of this worker are left to their leases" });
      abandoned.abort();
      failCommands(clients);
      await endsWithin(workerClosed, GIVE_UP_MS);
    }
    await keeper.close();
    if (isClosed) await endsWithin(queue.close(), HAND_BACK_MS, isRedisAway);
    closeClients(clients);
  };
  let closing: Promise<void> | undefined;
  const closeOnce = ({ graceMs = settings.graceMs }: { readonly graceMs?: number } = {}) => {
    if (closing !== undefined) {
      isHurried = true;
      stopping.abort(new Error("the worker is being closed at once"));
    }
    closing ??= close(graceMs);
    return closing;
  };
  return {
    get active() {
      return context.liveAttempts.size;
    },
    close: closeOnce,
    [Symbol.asyncDispose]: () => closeOnce(),
  };
}
