// One job from the queue to its outcome: checks, lease, workspace, fence, run, end. In this order, each step once. Must never start an agent
// in a workspace of which it is not proven that nobody else works there.

import { randomUUID } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { compileAgentHooks } from "../compiler/compile.ts";
import type { RenderedHooks } from "../compiler/token.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import { AgentHooksRefused, type Issue, type RefusalCode } from "../errors.ts";
import type { Fence } from "../hooks/fence-file.ts";
import { fencedWorkspace } from "../hooks/fenced-workspace.ts";
import { ownIdentity } from "../journal/process-identity.ts";
import { messageOf } from "../message-of.ts";
import type { Provider } from "../profile/events.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { CODEX_ALONE } from "../render/claude/conflicts.ts";
import { CLAUDE_ALONE } from "../render/codex/conflicts.ts";
import { classifyEnding } from "../retry/classify-ending.ts";
import { watchProviderErrors } from "../retry/watch-provider-errors.ts";
import type { RunResult } from "../spawn/result.ts";
import type { Supervisor } from "../supervisor/create-supervisor.ts";
import { FenceLost, FenceRefused, raiseFence } from "./fence.ts";
import { type AgentJob, parseAgentJob } from "./job-data.ts";
import { JobCancelled, type Lease, type LeaseKeeper, LeaseLost } from "./lease-keeper.ts";
import type { BullMq, Job, Queue } from "./load-bullmq.ts";
import { type JobOutcome, toOutcome, type WaitingPhase } from "./outcome.ts";
import { fillPrompt, readChildren } from "./prepare-prompt.ts";
import { type QueueClient, type RedisCommands, storeSettled } from "./redis-commands.ts";
import { accountKeys, cancelKey, settledKey, type WorkspaceKeys, workspaceKeys } from "./redis-keys.ts";
import { createProgressReporter, type ProgressReporter } from "./report-progress.ts";
import { fetchDeclaration } from "./ship-declaration.ts";
import { proveGone, type WorkspaceHolder } from "./take-over.ts";
import type { WorkerSettings } from "./worker-options.ts";

export interface JobContext {
  readonly bull: BullMq;
  readonly queue: Queue;
  readonly settings: WorkerSettings;
  readonly client: QueueClient;
  readonly commands: RedisCommands;
  readonly keeper: LeaseKeeper;
  readonly supervisor: Supervisor;
  /** Of this process. */
  readonly liveAttempts: Set<string>;
  /** Compiled for jobs of this worker, the newest last: their agent_exit hooks may be owed. */
  readonly tokens: RenderedHooks[];
  /** Aborted when the worker hands its jobs back. */
  readonly stopping: AbortSignal;
  /** Aborted when it ends without Redis: what was not told by then is the leases' to say. */
  readonly abandoned: AbortSignal;
}

/** Thrown out of a step when the job is to be looked at later. It is no attempt. */
class Later extends Error {
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

const TOKENS_KEPT = 64;
const WORKER = `${hostname()} ${process.pid}`;

/** What BullMQ calls for each job. Resolves with the outcome of a success; every other end throws what BullMQ is to make of it. */
export async function runJob(job: Job, token: string, context: JobContext): Promise<JobOutcome> {
  const { bull, settings, client } = context;
  const { name, progressMs, onProblem } = settings;
  const jobId = job.id ?? "";
  const progress = createProgressReporter({
    write: (state) => job.updateProgress(state),
    worker: WORKER,
    everyMs: progressMs,
    onProblem: (error) => onProblem({ kind: "redis", jobId, message: messageOf(error) }),
  });
  try {
    const cancelled = await client.get(cancelKey(name, jobId));
    if (cancelled !== null) throw new JobCancelled(cancelled);
    const data = parseAgentJob(job.data);
    const earlier = await readSettled(client, name, job);
    // It had succeeded, and its worker could not say so before the lease was over.
    const outcome =
      earlier?.outcome === "success" ? earlier : await runHeld(job, data, token, progress, context);
    await progress.flush({ phase: "ended", outcome });
    return outcome;
  } catch (error) {
    if (error instanceof Later) {
      await progress.flush({ phase: error.phase, reason: error.message });
      await job.moveToDelayed(Date.now() + error.waitMs, token);
      throw new bull.DelayedError(error.message);
    }
    if (error instanceof HandedBack) {
      await progress.flush({ phase: "starting", reason: error.message });
      await job.moveToWait(token);
      throw new bull.WaitingError(error.message);
    }
    if (error instanceof JobFailed) {
      await progress.flush({ phase: "ended", outcome: error.outcome, reason: error.message });
      if (error.isFinal) throw new bull.UnrecoverableError(error.message);
      throw new TransientFailure(error.message, error.retryAt);
    }
    if (
      error instanceof AgentHooksRefused ||
      error instanceof JobCancelled ||
      error instanceof FenceRefused
    ) {
      const outcome = refusedOutcome(job, error);
      await progress.flush({ phase: "ended", outcome, reason: outcome.reason });
      throw new bull.UnrecoverableError(outcome.reason);
    }
    if (error instanceof LeaseLost) {
      progress.stop();
      const isStillOurs = (await job.extendLock(token, settings.leaseMs)) === 1;
      onProblem({ kind: "lease", jobId, message: error.message });
      // Somebody else has it, or will have it: nothing more may be said of it from here.
      if (!isStillOurs) throw new bull.WaitingError(error.message);
      throw lostHere(job)
        ? new bull.UnrecoverableError(error.message)
        : new TransientFailure(error.message, undefined);
    }
    throw error;
  }
}

function lostHere({ data }: Job): boolean {
  return (data as Partial<AgentJob>).onLost === "fail";
}

/** The attempt ended otherwise than well. */
class JobFailed extends Error {
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
class HandedBack extends Error {
  override readonly name = "HandedBack";
}

function refusedOutcome(job: Job, error: Error): JobOutcome {
  const { provider } = (job.data ?? {}) as Partial<AgentJob>;
  return {
    outcome: error instanceof JobCancelled ? "interrupted" : "refused",
    reason: error.message,
    provider: provider === "codex" ? "codex" : "claude",
    attempt: job.attemptsStarted,
    worker: WORKER,
  };
}

/** Of this very job: an id may be given to another one later. */
async function readSettled(client: QueueClient, name: string, job: Job): Promise<JobOutcome | undefined> {
  const text = await client.get(settledKey(name, job.id ?? ""));
  if (text === null) return undefined;
  const { addedAt, outcome } = JSON.parse(text) as { addedAt: number; outcome: JobOutcome };
  return addedAt === job.timestamp ? outcome : undefined;
}

/** From the lease to its end. */
async function runHeld(
  job: Job,
  data: AgentJob,
  token: string,
  progress: ProgressReporter,
  context: JobContext,
): Promise<JobOutcome> {
  const { settings, client, keeper, liveAttempts } = context;
  const jobId = job.id ?? "";
  const workspace = await findWorkspace(data.cwd, settings.roots);
  const declaration = await fetchDeclaration(client, settings.name, data.declaration, settings.allow);
  const attempt = `${jobId}.${job.attemptsStarted}.${randomUUID()}`;
  const lease = await keeper.hold(jobId, token, attempt);
  if (lease === undefined) throw new LeaseLost("taken");
  liveAttempts.add(attempt);
  try {
    const keys = workspaceKeys(
      settings.workspaces === "shared" ? "shared" : ownIdentity().machine,
      workspace,
    );
    const held: HeldJob = { job, jobId, data, workspace, declaration, attempt, lease, keys, progress };
    return await runInWorkspace(held, context);
  } finally {
    liveAttempts.delete(attempt);
    lease.drop();
  }
}

interface HeldJob {
  readonly job: Job;
  readonly jobId: string;
  readonly data: AgentJob;
  readonly workspace: string;
  readonly declaration: HookDeclaration;
  readonly attempt: string;
  readonly lease: Lease;
  readonly keys: WorkspaceKeys;
  readonly progress: ProgressReporter;
}

async function findWorkspace(cwd: string, roots: readonly string[] | undefined): Promise<string> {
  const refuse = (message: string, hint: string) =>
    new AgentHooksRefused([{ code: "job_invalid", path: "job.cwd", message, hint }]);
  const path = await realpath(cwd).catch((error: unknown) => {
    throw refuse(messageOf(error), "it must be there on the worker's machine");
  });
  if (!(await stat(path)).isDirectory()) throw refuse(`${path} is no directory`, "name a directory");
  if (roots === undefined) return path;
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
  if (real.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)))
    return path;
  throw refuse(`${path} is not below a root of this worker`, `roots: ${roots.join(", ")}`);
}

async function runInWorkspace(held: HeldJob, context: JobContext): Promise<JobOutcome> {
  const { attempt, keys, lease, workspace, data } = held;
  const { commands, settings } = context;
  const claim = await commands.claim(keys, attempt, settings.leaseMs);
  if ("busyWith" in claim)
    throw new Later(
      "waiting_for_workspace",
      `${workspace} is in use by attempt ${claim.busyWith}`,
      settings.busyDelayMs,
    );
  lease.enter(keys.lease, workspace);
  let isEmpty = false;
  try {
    const fence = await enterWorkspace(held, claim, context);
    isEmpty = true; // nothing was started yet
    await passAccount(data, attempt, context);
    const { result, outcome, error } = await runAgent(held, fence, context);
    isEmpty = result === undefined || result.extinction.survivors.length === 0;
    if (outcome !== undefined) await settle(held, outcome, context);
    if (error !== undefined) throw error;
    if (outcome === undefined) throw new Error("a run has an outcome or an error");
    return outcome;
  } finally {
    // Until that is said nobody else gets in: it is tried again until Redis answers.
    await persist(() => commands.leave(keys, attempt, isEmpty), context);
  }
}

/** Proves that who was there before is gone, and puts up the fence. */
async function enterWorkspace(
  { jobId, data, workspace, attempt, keys }: HeldJob,
  claim: { fence: number; previous: string | undefined },
  { settings, commands, tokens, liveAttempts }: JobContext,
): Promise<Fence> {
  const stateDir = stateDirectory(settings.env);
  const proof =
    claim.previous === undefined
      ? undefined
      : await proveGone(claim.previous, {
          workspace,
          stateDir,
          hooks: tokens,
          env: settings.env,
          liveAttempts,
        });
  if (proof?.state === "wait") throw new Later("waiting_for_workspace", proof.reason, settings.busyDelayMs);
  const fence = await raiseFence(commands, keys, workspace, { token: claim.fence, attempt }).catch(
    (error: unknown) => {
      throw error instanceof FenceLost ? new LeaseLost("taken") : error;
    },
  );
  const holder: WorkspaceHolder = {
    attempt,
    jobId,
    workspace,
    stateDir,
    worker: ownIdentity(),
    fence: fence.token,
    at: new Date().toISOString(),
  };
  if (!(await commands.note(keys, attempt, JSON.stringify(holder)))) throw new LeaseLost("taken");
  if (proof?.lostJobId === jobId && data.onLost === "fail")
    throw new AgentHooksRefused([
      {
        code: "job_invalid",
        path: "job.onLost",
        message: "lost: its worker died or lost its lease, and the job says that it is not tried again",
        hint: "look at what the agent had done",
      },
    ]);
  return fence;
}

async function passAccount(
  { account }: AgentJob,
  attempt: string,
  { commands, settings }: JobContext,
): Promise<void> {
  if (account === undefined) return;
  const waitMs = await commands.start(accountKeys(account), attempt, Date.now());
  if (waitMs > 0)
    throw new Later(
      "waiting_for_account",
      `account ${account} may start in ${waitMs} ms`,
      waitMs + settings.progressMs,
    );
}

interface Ended {
  /** Not there when the run was refused. */
  readonly result?: RunResult;
  readonly outcome?: JobOutcome;
  /** What the job ends with; not there after a success. */
  readonly error?: Error;
}

async function runAgent(held: HeldJob, fence: Fence, context: JobContext): Promise<Ended> {
  const { data, workspace, declaration, lease, progress, job, jobId } = held;
  const { settings, supervisor, tokens, stopping, queue } = context;
  const signal = AbortSignal.any([lease.signal, stopping]);
  const where = { attempt: job.attemptsStarted, worker: WORKER };
  const errors = watchProviderErrors();
  const runOptions = optionsOf(data.provider, settings.run ?? {});
  try {
    const hooks = await compileAgentHooks(withGuards(declaration, settings.guards, fence, workspace), {
      provider: data.provider,
      cwd: workspace,
      source: `declaration ${data.declaration.slice(0, 16)}`,
      ...settings.compile,
      ...(settings.binaries?.[data.provider] === undefined
        ? {}
        : { binary: settings.binaries[data.provider] }),
      signal,
    });
    tokens.push(hooks);
    tokens.splice(0, tokens.length - TOKENS_KEPT);
    const children = await readChildren(job, (id) => queue.getJob(id));
    const prompt = await (settings.preparePrompt ?? fillPrompt)(data, { jobId, name: job.name, children });
    signal.throwIfAborted();
    const run = await supervisor.run({
      ...runOptions,
      ...(data.model === undefined ? {} : { model: data.model }),
      ...(data.budget?.costUsd === undefined
        ? {}
        : {
            extraArgs: [...(runOptions.extraArgs ?? []), costArgument(data.budget.costUsd)],
          }),
      ...(data.budget?.turns === undefined ? {} : { maxTurns: data.budget.turns }),
      deadlines: {
        ...runOptions.deadlines,
        ...(data.budget?.wallMs === undefined ? {} : { wallMs: data.budget.wallMs }),
      },
      hooks,
      prompt,
      cwd: workspace,
      workspace: "exclusive",
      shutdown: "off",
      baseEnv: settings.env,
      signal,
    });
    progress.change({ phase: "running", runId: run.id });
    for await (const event of run) {
      errors.note(event);
      progress.note(event);
    }
    const result = await run.result;
    await lease.settle();
    const outcome = toOutcome(result, where);
    return { result, outcome, ...(await judge(held, outcome, errors, context)) };
  } catch (error) {
    await lease.settle();
    if (lease.signal.aborted) return { error: asError(lease.signal.reason) };
    if (stopping.aborted) return { error: new HandedBack("the worker was closed before the agent started") };
    if (!(error instanceof AgentHooksRefused)) throw error;
    return refusalOf(error, held, where, context);
  }
}

/** What the job ends with. `unenforced` and the like are final, whatever else is true of them. */
async function judge(
  { lease, data, job }: HeldJob,
  outcome: JobOutcome,
  { providerError, resetAt }: ReturnType<typeof watchProviderErrors>,
  { stopping, commands }: JobContext,
): Promise<{ error?: Error }> {
  if (outcome.outcome === "success") return {};
  const reason: unknown = lease.signal.reason;
  if (reason instanceof JobCancelled)
    return { error: new JobFailed({ ...outcome, reason: reason.message }, true) };
  if (reason instanceof LeaseLost) return { error: reason };
  // Also when something else of this process stops all of its runs: the end of a process is never a job's.
  const isStopped = stopping.aborted || outcome.reason.startsWith("supervisor_stopping");
  if (isStopped && outcome.outcome === "interrupted")
    return { error: new HandedBack("the worker was closed while the agent worked") };
  const ending = classifyEnding({ ...outcome, providerError, resetAt });
  if (ending.class !== "transient") return { error: new JobFailed(outcome, true) };
  if (data.account !== undefined && ending.retryAt !== undefined)
    await commands.pause(accountKeys(data.account), ending.retryAt, Date.now());
  const isLast = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
  return { error: new JobFailed(outcome, isLast, ending.retryAt) };
}

/** A start that was refused. One for want of room is no attempt. */
function refusalOf(
  { issues, runId }: AgentHooksRefused,
  { data, job }: HeldJob,
  where: Pick<JobOutcome, "attempt" | "worker">,
  { settings }: JobContext,
): Ended {
  const codes = [...new Set(issues.map(({ code }) => code))];
  const reason = issues.map(({ code, path, message }: Issue) => `${code} ${path}: ${message}`).join("; ");
  const ending = classifyEnding({ outcome: "refused", reason, refusalCodes: codes as RefusalCode[] });
  if (ending.class === "interrupted") return { error: new HandedBack(reason) };
  const outcome: JobOutcome = {
    outcome: "refused",
    reason,
    provider: data.provider,
    ...where,
    ...(runId === undefined ? {} : { runId }),
  };
  if (ending.class !== "transient") return { outcome, error: new JobFailed(outcome, true) };
  const phase = codes.includes("workspace_busy") ? "waiting_for_workspace" : "waiting_for_machine";
  if (runId === undefined) return { error: new Later(phase, reason, settings.busyDelayMs) };
  const isLast = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
  return { outcome, error: new JobFailed(outcome, isLast) };
}

/** One worker has jobs of both: what is the other's alone says nothing about this one. */
function optionsOf(provider: Provider, run: NonNullable<WorkerSettings["run"]>): typeof run {
  const others: readonly string[] = provider === "claude" ? CODEX_ALONE : CLAUDE_ALONE;
  return Object.fromEntries(Object.entries(run).filter(([name]) => !others.includes(name)));
}

/** Never in the form `1e-7`. */
function costArgument(costUsd: number): string {
  return `--max-budget-usd=${Math.max(1e-6, costUsd).toFixed(6)}`;
}

/** Beside the declared ones: the worker's own, and the fence. */
function withGuards(
  declaration: HookDeclaration,
  guards: HookDeclaration | undefined,
  fence: Fence,
  workspace: string,
): HookDeclaration {
  const fenced: HookDeclaration = { PreToolUse: [{ hooks: [fencedWorkspace({ workspace, ...fence })] }] };
  const all: HookDeclaration = {};
  for (const one of [fenced, guards ?? {}, declaration])
    for (const [event, groups] of Object.entries(one)) all[event] = [...(all[event] ?? []), ...groups];
  return all;
}

/** Before the workspace is left: who takes the job over finds it. */
async function settle({ job, jobId }: HeldJob, outcome: JobOutcome, context: JobContext): Promise<void> {
  const { client, settings } = context;
  const text = JSON.stringify({ addedAt: job.timestamp, outcome });
  await persist(() => storeSettled(client, settledKey(settings.name, jobId), text), context);
}

const PERSIST_MS = 200;

/** Until Redis takes it, or the worker is closed for good. */
async function persist(
  write: () => Promise<void>,
  { settings, client, abandoned }: JobContext,
): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      settings.onProblem({ kind: "redis", message: messageOf(error) });
      if (abandoned.aborted || client.status === "end") return;
      await delay(PERSIST_MS);
    }
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(messageOf(reason));
}
