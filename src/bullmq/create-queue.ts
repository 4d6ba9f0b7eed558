// createAgentQueue: what puts jobs in and asks about them. Starts no agent, and needs none on its machine.

import type { HookDeclaration } from "../declaration/types.ts";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { describeValue } from "../hooks/options.ts";
import { type QueueConnection, resolveConnection } from "./connection.ts";
import {
  ACCOUNT_PATTERN,
  type AddOptions,
  type AgentJob,
  checkAddOptions,
  DEFAULT_RETRIES,
  parseAgentJob,
} from "./job-data.ts";
import { type Job, type JobsOptions, loadBullMq } from "./load-bullmq.ts";
import type { JobOutcome, JobProgress } from "./outcome.ts";
import { redisCommands } from "./redis-commands.ts";
import { accountKeys, cancelKey, DEFAULT_PREFIX } from "./redis-keys.ts";
import { checkKey, storeDeclaration } from "./ship-declaration.ts";
import { checkName } from "./worker-options.ts";

export interface AgentQueueOptions {
  readonly connection: QueueConnection;
  /** At most 128 of `A-Za-z0-9._-`. */
  readonly name: string;
  /** Signs what is published, for workers that allow by key: at least 32 bytes. @default not signed */
  readonly key?: string | Uint8Array;
  /** BullMQ's. @default "bull" */
  readonly prefix?: string;
  /** Told of errors of the connection, which is made again by itself. @default a line on stderr */
  readonly onError?: (error: Error) => void;
}

export interface FlowTask {
  /** Unique among its siblings: `{{children.NAME.finalText}}` in the parent's prompt. At most 64 of `A-Za-z0-9_-`. */
  readonly name: string;
  readonly job: AgentJob;
  readonly options?: Pick<AddOptions, "jobId" | "priority" | "keep">;
  /** Run before it, all of them. */
  readonly children?: readonly FlowTask[];
  /** Of a child that failed for good: its parent fails too, or goes on without it. @default "fail" */
  readonly onFailure?: "fail" | "continue";
}

/** When a scheduled job runs: a cron pattern, or an interval. */
export type ScheduleTime =
  | { readonly cron: string; readonly timeZone?: string }
  | { readonly everyMs: number };

/** Where a job is, and what is known of its end. */
export interface JobReport {
  readonly jobId: string;
  /** BullMQ's word: `waiting`, `prioritized`, `delayed`, `waiting-children`, `active`, `completed`, `failed`, or `unknown`. */
  readonly state: string;
  readonly outcome?: JobOutcome;
  readonly failedReason?: string;
  readonly progress?: JobProgress;
}

/** `removed`: it had not started (of a parent, its waiting children are removed too, and running ones asked). `asked`: its worker stops the agent. `ended`: there was nothing to cancel. `unknown`: there is no such job. */
export type CancelAnswer = "removed" | "asked" | "ended" | "unknown";

export interface AgentQueue extends AsyncDisposable {
  /** Puts a declaration into Redis and answers its digest, which jobs name. */
  publish(declaration: HookDeclaration): Promise<string>;
  /** Answers the job's id. @throws AgentHooksRefused `job_invalid`, `option_invalid`: nothing was put in then. */
  add(job: AgentJob, options?: AddOptions): Promise<string>;
  /** Parents wait for their children. Answers the id of the root. Throws as `add`; all of it is put in, or nothing. */
  addFlow(root: FlowTask): Promise<string>;
  /** Puts a job in again and again; one schedule a name, and a second call replaces it. */
  schedule(
    name: string,
    time: ScheduleTime,
    job: AgentJob,
    options?: Pick<AddOptions, "priority" | "keep">,
  ): Promise<void>;
  /** False when there was none. */
  unschedule(name: string): Promise<boolean>;
  /** @throws AgentHooksRefused `option_invalid` for the next run of a schedule: that is ended by `unschedule`. */
  cancel(jobId: string, reason?: string): Promise<CancelAnswer>;
  report(jobId: string): Promise<JobReport>;
  /** Resolves when the job has ended, one way or the other. Rejects after `timeoutMs`. */
  wait(
    jobId: string,
    options?: { readonly timeoutMs?: number; readonly pollMs?: number },
  ): Promise<JobReport>;
  /** At most that many starts of this account's jobs in that time, on all workers. Undefined: no limit. */
  limitAccount(
    account: string,
    limit: { readonly starts: number; readonly perMs: number } | undefined,
  ): Promise<void>;
  /** No start of this account's jobs before that time. A pause is never made shorter. */
  pauseAccount(account: string, until: Date): Promise<void>;
  close(): Promise<void>;
}

const PRIORITIES = 1_000;
const DEFAULT_KEEP = 1_000;
const CANCEL_MS = 7 * 24 * 3_600_000;
const DEFAULT_NAME = "agent";
const TASK_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** @throws AgentHooksRefused `option_invalid`, `queue_unavailable` */
export async function createAgentQueue(options: AgentQueueOptions): Promise<AgentQueue> {
  const { name, key, prefix = DEFAULT_PREFIX } = options;
  checkName(name);
  if (key !== undefined) checkKey(key, "key");
  const connection = resolveConnection(options.connection);
  const { onError = (error) => process.stderr.write(`bridle queue: ${error.message}\n`) } = options;
  const { Queue, FlowProducer } = await loadBullMq();
  const queue = new Queue(name, { connection, prefix });
  queue.on("error", onError);
  const client = await queue.client;
  const commands = redisCommands(client);
  let flows: InstanceType<typeof FlowProducer> | undefined;

  const report = async (jobId: string): Promise<JobReport> => {
    // First the state: what a job was when it was read must not be told of one that has ended since, without its outcome.
    const state = await queue.getJobState(jobId);
    const job: Job | undefined = await queue.getJob(jobId);
    if (job === undefined) return { jobId, state: "unknown" };
    const progress = isProgress(job.progress) ? job.progress : undefined;
    const outcome = (job.returnvalue as JobOutcome | null) ?? progress?.outcome;
    return {
      jobId,
      state,
      ...(outcome === undefined ? {} : { outcome }),
      // Of an attempt that was followed by another it is kept too.
      ...(state === "failed" ? { failedReason: job.failedReason } : {}),
      ...(progress === undefined ? {} : { progress }),
    };
  };

  const cancel = async (jobId: string, reason = "cancelled"): Promise<CancelAnswer> => {
    const job: Job | undefined = await queue.getJob(jobId);
    if (job === undefined) return "unknown";
    const state = await job.getState();
    if (state === "completed" || state === "failed") return "ended";
    const key = cancelKey(name, jobId);
    // Written first: should it start meanwhile, its worker sees it.
    await client.set(key, reason.slice(0, 1_000), { PX: CANCEL_MS });
    if (state === "active") return "asked";
    const children = state === "waiting-children" ? await listWaitedFor(job) : [];
    try {
      // Before its children: it would start, or fail, when the last of them has ended.
      await job.remove({ removeChildren: false });
    } catch (error) {
      // It has started, and its worker will see what was written.
      if ((await job.getState()) === "active") return "asked";
      await client.del(key);
      if (job.repeatJobKey === undefined) throw error;
      throw new AgentHooksRefused([
        {
          code: "option_invalid",
          path: "jobId",
          message: `${describeValue(jobId)} is the next run of the schedule ${describeValue(job.repeatJobKey)}`,
          hint: `call unschedule(${JSON.stringify(job.repeatJobKey)})`,
        },
      ]);
    }
    await client.del(key);
    for (const child of children) await cancel(child, reason);
    return "removed";
  };

  const close = async () => {
    await flows?.close();
    await queue.close();
  };

  return {
    publish: (declaration) => storeDeclaration(client, name, declaration, key),
    async add(job, addOptions = {}) {
      const data = parseAgentJob(job);
      const { id } = await queue.add(DEFAULT_NAME, data, jobOptions(data, checkAddOptions(addOptions)));
      return id ?? "";
    },
    async addFlow(root) {
      const flow = toFlow(root, name, prefix, "flow");
      if (flows === undefined) {
        flows = new FlowProducer({ connection, prefix });
        flows.on("error", onError);
      }
      const { job } = await flows.add(flow);
      return job.id ?? "";
    },
    async schedule(scheduleName, time, job, addOptions = {}) {
      checkTaskName(scheduleName, "name");
      const data = parseAgentJob(job);
      const opts = jobOptions(data, checkAddOptions(addOptions));
      await queue.upsertJobScheduler(scheduleName, repeatOf(time), { name: scheduleName, data, opts });
    },
    unschedule: (scheduleName) => queue.removeJobScheduler(scheduleName),
    cancel,
    report,
    async wait(jobId, { timeoutMs = 24 * 3_600_000, pollMs = 200 } = {}) {
      const until = performance.now() + timeoutMs;
      for (;;) {
        const now = await report(jobId);
        if (now.state === "completed" || now.state === "failed" || now.state === "unknown") return now;
        if (performance.now() >= until) throw new Error(`job ${jobId} is ${now.state} after ${timeoutMs} ms`);
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    },
    async limitAccount(account, limit) {
      checkAccount(account);
      const keys = accountKeys(account);
      if (limit === undefined) {
        await client.del(keys.limit);
        return;
      }
      checkLimit(limit);
      await client.hset(keys.limit, { starts: limit.starts, perMs: limit.perMs });
    },
    async pauseAccount(account, until) {
      checkAccount(account);
      if (!(until instanceof Date) || Number.isNaN(until.getTime()))
        throw refuse("until", "a Date that is a time", until);
      await commands.pause(accountKeys(account), until.getTime(), Date.now());
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Ids of the children that it still waits for: all are of its own queue. */
async function listWaitedFor(job: Job): Promise<string[]> {
  const { unprocessed = [] } = await job.getDependencies();
  return unprocessed.map((key) => key.slice(key.lastIndexOf(":") + 1));
}

function isProgress(value: unknown): value is JobProgress {
  return typeof value === "object" && value !== null && "phase" in value;
}

/** BullMQ starts lower numbers first, and those without one before all others: so each job has one. */
function jobOptions({ retries = DEFAULT_RETRIES }: AgentJob, options: AddOptions): JobsOptions {
  const { jobId, priority = 0, delayMs, keep = DEFAULT_KEEP } = options;
  return {
    ...(jobId === undefined ? {} : { jobId }),
    ...(delayMs === undefined ? {} : { delay: delayMs }),
    priority: 1 + PRIORITIES - priority,
    attempts: 1 + retries,
    backoff: { type: "custom" },
    removeOnComplete: { count: keep },
    removeOnFail: { count: keep },
  };
}

type Flow = Parameters<InstanceType<Awaited<ReturnType<typeof loadBullMq>>["FlowProducer"]>["add"]>[0];

function toFlow(task: FlowTask, queueName: string, prefix: string, path: string): Flow {
  checkTaskName(task.name, `${path}.name`);
  const children = task.children ?? [];
  const names = children.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw refuse(`${path}.children`, "children with names of their own", twice);
  const data = parseAgentJob(task.job, `${path}.job`);
  const failure =
    (task.onFailure ?? "fail") === "fail"
      ? { failParentOnFailure: true }
      : { ignoreDependencyOnFailure: true };
  return {
    name: task.name,
    queueName,
    prefix,
    data,
    opts: { ...jobOptions(data, checkAddOptions(task.options ?? {})), ...(path === "flow" ? {} : failure) },
    children: children.map((child, index) => toFlow(child, queueName, prefix, `${path}.children[${index}]`)),
  };
}

function repeatOf(time: ScheduleTime): { pattern: string; tz?: string } | { every: number } {
  if ("everyMs" in time) {
    if (!Number.isSafeInteger(time.everyMs) || time.everyMs < 1)
      throw refuse("everyMs", "a whole number above 0", time.everyMs);
    return { every: time.everyMs };
  }
  if (typeof time.cron !== "string" || time.cron.trim() === "")
    throw refuse("cron", "a cron pattern", time.cron);
  return { pattern: time.cron, ...(time.timeZone === undefined ? {} : { tz: time.timeZone }) };
}

function checkTaskName(name: unknown, path: string): void {
  if (typeof name !== "string" || !TASK_NAME.test(name))
    throw refuse(path, "1 to 64 of A-Z a-z 0-9 _ -", name);
}

function checkAccount(account: unknown): void {
  if (typeof account !== "string" || !ACCOUNT_PATTERN.test(account))
    throw refuse("account", "1 to 128 of A-Z a-z 0-9 . _ @ -", account);
}

function checkLimit(limit: unknown): asserts limit is { starts: number; perMs: number } {
  if (typeof limit !== "object" || limit === null) throw refuse("limit", "{ starts, perMs }", limit);
  const fields = new Map<string, unknown>(Object.entries(limit));
  for (const field of ["starts", "perMs"]) {
    const value = fields.get(field);
    if (!Number.isSafeInteger(value) || (value as number) < 1)
      throw refuse(`limit.${field}`, "a whole number above 0", value);
    fields.delete(field);
  }
  for (const [field, value] of fields) throw refuse(`limit.${field}`, "starts and perMs alone", value);
}

function refuse(path: string, expected: string, value: unknown): AgentHooksRefused {
  const message = `expected ${expected}, got ${describeValue(value)}`;
  const issue: Issue = { code: "option_invalid", path, message, hint: "see docs/SCALE.md" };
  return new AgentHooksRefused([issue]);
}
