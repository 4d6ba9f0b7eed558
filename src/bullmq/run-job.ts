// One job from the queue to its outcome: checks, lease, workspace, fence, run, end. In this order, each step once. Must never start an agent
// in a workspace of which it is not proven that nobody else works there.

import { randomUUID } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AgentHooksRefused } from "../errors.ts";
import type { Fence } from "../hooks/fence-file.ts";
import { ownIdentity } from "../journal/process-identity.ts";
import { messageOf } from "../message-of.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { FenceLost, FenceRefused, raiseFence } from "./fence.ts";
import { type HeldJob, type JobContext, WORKER } from "./held-job.ts";
import { type AgentJob, parseAgentJob } from "./job-data.ts";
import { HandedBack, JobFailed, Later, TransientFailure } from "./job-ends.ts";
import { JobCancelled, LeaseLost } from "./lease-keeper.ts";
import type { Job } from "./load-bullmq.ts";
import type { JobOutcome } from "./outcome.ts";
import { type QueueClient, storeSettled } from "./redis-commands.ts";
import { accountKeys, cancelKey, settledKey, workspaceKeys } from "./redis-keys.ts";
import { createProgressReporter, type ProgressReporter } from "./report-progress.ts";
import { runAgent } from "./run-agent.ts";
import { fetchDeclaration } from "./ship-declaration.ts";
import { proveGone, type WorkspaceHolder } from "./take-over.ts";

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
