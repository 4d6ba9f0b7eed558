// The run of a job's agent, and what its end makes of the job. The workspace is this job's already: run-job.ts.

import { compileAgentHooks } from "../compiler/compile.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import { AgentHooksRefused, type Issue, type RefusalCode } from "../errors.ts";
import type { Fence } from "../hooks/fence-file.ts";
import { fencedWorkspace } from "../hooks/fenced-workspace.ts";
import { messageOf } from "../message-of.ts";
import type { Provider } from "../profile/events.ts";
import { CODEX_ALONE } from "../render/claude/conflicts.ts";
import { CLAUDE_ALONE } from "../render/codex/conflicts.ts";
import { classifyEnding } from "../retry/classify-ending.ts";
import { watchProviderErrors } from "../retry/watch-provider-errors.ts";
import type { RunResult } from "../spawn/result.ts";
import { type HeldJob, type JobContext, WORKER } from "./held-job.ts";
import { HandedBack, JobFailed, Later } from "./job-ends.ts";
import { JobCancelled, LeaseLost } from "./lease-keeper.ts";
import { type JobOutcome, toOutcome } from "./outcome.ts";
import { fillPrompt, readChildren } from "./prepare-prompt.ts";
import { accountKeys } from "./redis-keys.ts";
import type { WorkerSettings } from "./worker-options.ts";

const TOKENS_KEPT = 64;

export interface Ended {
  /** Not there when the run was refused. */
  readonly result?: RunResult;
  readonly outcome?: JobOutcome;
  /** What the job ends with; not there after a success. */
  readonly error?: Error;
}

export async function runAgent(held: HeldJob, fence: Fence, context: JobContext): Promise<Ended> {
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

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(messageOf(reason));
}
