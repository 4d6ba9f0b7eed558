// One attempt of a task: one run of an agent, watched for what its task may cost, and how it is to be told. Writes nothing down.

import type { RenderedHooks } from "../compiler/token.ts";
import { AgentHooksRefused } from "../errors.ts";
import { classifyEnding } from "../retry/classify-ending.ts";
import { ERROR_EVENTS, watchProviderErrors } from "../retry/watch-provider-errors.ts";
import type { AgentEvent } from "../spawn/events.ts";
import { withRunId } from "../spawn/given-run-id.ts";
import type { SpawnOptions } from "../spawn/options.ts";
import type { RunResult } from "../spawn/result.ts";
import type { Supervisor } from "../supervisor/create-supervisor.ts";
import type { FanOutOptions } from "./options.ts";
import { type EndedAttempt, type StoredAttempt, sumOf } from "./state-rows.ts";
import type { TaskSpec } from "./task.ts";

export interface AttemptOptions {
  readonly supervisor: Supervisor;
  readonly hooks: RenderedHooks;
  readonly spec: TaskSpec;
  readonly runId: string;
  readonly cwd: string;
  /** Session of the provider to go on with. */
  readonly resume: string | undefined;
  readonly keepsSession: boolean;
  /** Nobody else may work in its folder. */
  readonly isAlone: boolean;
  readonly earlier: readonly StoredAttempt[];
  readonly spawn: FanOutOptions["spawn"];
  readonly onEvent: (event: AgentEvent) => void;
}

export interface AttemptEnd extends EndedAttempt {
  readonly retryAt?: number | undefined;
  readonly providerSessionId?: string | undefined;
}

/** What a task has left. Undefined: no limit. */
interface Left {
  readonly costUsd: number | undefined;
  readonly turns: number | undefined;
  readonly ms: number | undefined;
}

const EVENTS = [...ERROR_EVENTS, "message", "hook", "usage", "session"] as const;

/** Never rejects for what a run or its start comes to. */
export async function runAttempt(options: AttemptOptions): Promise<AttemptEnd> {
  const { supervisor, spec, runId, onEvent } = options;
  const left = leftOf(options);
  const exceeded = firstExceeded(left, spec);
  if (exceeded !== undefined) return toBudgetEnd(exceeded, {});
  const errors = watchProviderErrors();
  let overrun: string | undefined;
  let run: Awaited<ReturnType<Supervisor["run"]>>;
  try {
    run = await supervisor.run(withRunId(toSpawnOptions(options, left), runId));
  } catch (error) {
    return toRefusedEnd(error);
  }
  for await (const event of run) {
    errors.note(event);
    onEvent(event);
    // claude tells what it has cost in its last message; what it still does behind that is more.
    if (
      event.type === "usage" &&
      left.costUsd !== undefined &&
      (event.costUsd ?? 0) > left.costUsd &&
      overrun === undefined
    ) {
      overrun = `cost ${spec.maxCostUsd} USD`;
      void run.stop(`budget_exceeded: ${overrun}`);
    }
  }
  const result = await run.result;
  overrun ??= exceededBy(result, spec, left);
  const facts = factsOf(result);
  if (overrun !== undefined) return toBudgetEnd(overrun, facts);
  const { outcome, reason, finalText } = result;
  const { providerError, resetAt } = errors;
  const { class: kind, retryAt } = classifyEnding({ outcome, reason, finalText, providerError, resetAt });
  return { outcome, reason, class: kind, retryAt, ...facts };
}

function factsOf(result: RunResult) {
  const { costUsd, turns, hooks, durationMs, finalText, providerSessionId } = result;
  return { costUsd, turns, denied: hooks.denied, durationMs, finalText, providerSessionId };
}

/** A budget that was used up is told as a time-out, whoever kept it. */
function toBudgetEnd(what: string, facts: Partial<AttemptEnd>): AttemptEnd {
  return { outcome: "timed_out", reason: `budget_exceeded: ${what}`, class: "deterministic", ...facts };
}

function toRefusedEnd(error: unknown): AttemptEnd {
  if (error instanceof AgentHooksRefused) {
    const refusalCodes = error.issues.map(({ code }) => code);
    const reason = error.message;
    const { class: kind } = classifyEnding({ outcome: "refused", reason, refusalCodes });
    return { outcome: kind === "interrupted" ? "interrupted" : "refused", reason, class: kind };
  }
  const reason = error instanceof Error ? error.message : String(error);
  return { outcome: "failed", reason: `spawn_failed: ${reason}`, class: "deterministic" };
}

/** The reason of a run that took too long, when it was its task's time that was up. */
export function describeTimeOut(reason: string, { maxSeconds }: TaskSpec): string {
  return reason === "wall" && maxSeconds !== undefined ? `budget_exceeded: time ${maxSeconds} s` : reason;
}

function leftOf({ spec, earlier }: AttemptOptions): Left {
  const minus = (limit: number | undefined, used: number) => (limit === undefined ? undefined : limit - used);
  const usedMs = earlier.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  return {
    costUsd: minus(spec.maxCostUsd, sumOf(earlier, "costUsd") ?? 0),
    turns: minus(spec.maxTurns, sumOf(earlier, "turns") ?? 0),
    ms: minus(spec.maxSeconds === undefined ? undefined : spec.maxSeconds * 1_000, usedMs),
  };
}

function firstExceeded({ costUsd = 1, turns = 1, ms = 1 }: Left, spec: TaskSpec): string | undefined {
  if (costUsd <= 0) return `cost ${spec.maxCostUsd} USD`;
  if (turns <= 0) return `turns ${spec.maxTurns}`;
  return ms <= 0 ? `time ${spec.maxSeconds} s` : undefined;
}

function exceededBy(
  { outcome, reason, costUsd = 0 }: RunResult,
  spec: TaskSpec,
  left: Left,
): string | undefined {
  if (
    left.costUsd !== undefined &&
    (reason === "budget_exhausted" || (outcome !== "success" && costUsd > left.costUsd))
  )
    return `cost ${spec.maxCostUsd} USD`;
  if (left.turns !== undefined && outcome === "failed" && reason === "max_turns")
    return `turns ${spec.maxTurns}`;
  return left.ms !== undefined && outcome === "timed_out" && reason === "wall"
    ? `time ${spec.maxSeconds} s`
    : undefined;
}

const GO_ON = "An error of the service ended your last turn. Go on where you stopped. The task was:";

function toSpawnOptions(options: AttemptOptions, left: Left): SpawnOptions {
  const { hooks, spec, cwd, resume, keepsSession, isAlone, spawn = {} } = options;
  const { deadlines = {}, extraArgs = [] } = spawn;
  return {
    ...spawn,
    hooks,
    prompt: resume === undefined ? spec.prompt : `${GO_ON}\n\n${spec.prompt}`,
    cwd,
    events: [...EVENTS],
    ...(isAlone ? { workspace: "exclusive" as const } : {}),
    ...(spec.model === undefined ? {} : { model: spec.model }),
    ...(left.turns === undefined ? {} : { maxTurns: left.turns }),
    ...(left.ms === undefined ? {} : { deadlines: { ...deadlines, wallMs: Math.max(1, left.ms) } }),
    ...(left.costUsd === undefined
      ? {}
      : { extraArgs: [...extraArgs, `--max-budget-usd=${Math.max(1e-6, left.costUsd).toFixed(6)}`] }),
    ...(keepsSession ? { keepSession: true } : {}),
    ...(resume === undefined ? {} : { resume }),
  };
}
