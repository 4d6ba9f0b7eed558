// The end of an admitted run, once: agent_exit, the last receipt, the result.

import type { HookPlan } from "../compiler/plan.ts";
import type { Ledger } from "../journal/ledger.ts";
import { reach } from "../journal/steps.ts";
import { baseEnvelope } from "../profile/envelope.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { PreflightReport, RunOptions } from "../render/provider.ts";
import type { Attestation } from "./attestation.ts";
import { lastBytes } from "./byte-ring.ts";
import { STDERR_RING_BYTES } from "./child.ts";
import type { ResolvedDeadlines } from "./deadlines.ts";
import type { EventQueue } from "./event-queue.ts";
import type { HookRuntime } from "./hook-runtime.ts";
import type { BufferedReceipts } from "./receipt-buffer.ts";
import type { Extinction, RunResult } from "./result.ts";
import type { Ending } from "./settle-machine.ts";
import { NOTHING_SAID, type StreamSummary } from "./supervise.ts";

export interface FinisherOptions {
  readonly plan: HookPlan;
  readonly runOptions: RunOptions;
  readonly runId: string;
  readonly sessionId: string;
  readonly redactor: Redactor;
  readonly receipts: BufferedReceipts;
  readonly runtime: HookRuntime;
  readonly attestation: Attestation;
  readonly warnings: { code: string; message: string }[];
  readonly queue: EventQueue;
  readonly ledger: Ledger;
  readonly deadlines: ResolvedDeadlines;
  /** `performance.now()` when `agent_prompt` had passed. */
  readonly startedAt: number;
}

export interface FinishInput extends Ending {
  readonly stderr: string;
  /** Undefined when no agent was started. */
  readonly summary: StreamSummary | undefined;
  readonly report: PreflightReport | undefined;
}

export type Finish = (input: FinishInput) => Promise<RunResult>;

/** The returned function fires `agent_exit` on its first call; a second call gets the first one's result (P2). */
export function createFinisher(options: FinisherOptions): Finish {
  let finished: Promise<RunResult> | undefined;
  return (input) => {
    finished ??= finishRun(options, input);
    return finished;
  };
}

async function finishRun(options: FinisherOptions, input: FinishInput): Promise<RunResult> {
  const { plan, runId, redactor, receipts, runtime, warnings, queue, startedAt, sessionId } = options;
  const { settlement, exit, extinction, summary = NOTHING_SAID, report } = input;
  const reason = redactor.text(settlement.reason);
  const durationMs = Math.round(performance.now() - startedAt);
  const ending = {
    outcome: settlement.outcome,
    reason,
    exit_code: exit.code,
    signal: exit.signal,
    duration_ms: durationMs,
  };

  await options.ledger.startExit();
  await fireAgentExit(options, { ...ending, extinction });
  await options.ledger.end({ ...settlement, reason }, extinction);
  const attestation = options.attestation.report();
  receipts.write({ kind: "attested", ...attestation });
  receipts.write({ kind: "run_ended", ...ending, extinction: extinction.state });
  const receiptError = await receipts.close();
  const result: RunResult = Object.freeze({
    runId,
    provider: plan.provider,
    outcome: settlement.outcome,
    reason,
    exitCode: exit.code,
    signal: exit.signal,
    sessionId,
    providerSessionId: summary.providerSessionId,
    finalText: summary.finalText,
    turns: summary.turns,
    usage: summary.usage,
    costUsd: summary.costUsd,
    durationMs,
    hooks: { ...runtime.counts },
    attestation,
    extinction,
    stderrTail: lastBytes(redactor.text(input.stderr), STDERR_RING_BYTES),
    receiptPath: receipts.path,
    receiptHead: receipts.head,
    receiptError: receiptError === undefined ? undefined : redactor.text(receiptError.message),
    foreignHooks: (report?.foreignHooks ?? []).map(({ event, source }) => ({ event, source })),
    warnings: [...warnings],
    prove: plan.prove,
  });
  queue.push({ type: "result", result });
  queue.end();
  reach("result_delivered", runId);
  return result;
}

/** agent_exit has no verdict: what its chain answers is logged. It may not keep the result from being delivered. */
async function fireAgentExit(
  { plan, runOptions, runId, sessionId, runtime, receipts, redactor, deadlines }: FinisherOptions,
  ending: {
    outcome: string;
    reason: string;
    exit_code: number | null;
    signal: string | null;
    duration_ms: number;
    extinction: Extinction;
  },
): Promise<void> {
  const base = baseEnvelope("agent_exit", { provider: plan.provider, sessionId, runId, cwd: runOptions.cwd });
  const { extinction, ...rest } = ending;
  const envelope = {
    ...base,
    ...rest,
    extinction: { state: extinction.state, method: extinction.method, survivors: [...extinction.survivors] },
    hooks: { ...runtime.counts },
  };
  const { exitHookMs } = deadlines;
  // Without it the chain is bounded by its hooks' own timeouts.
  const signal = exitHookMs === undefined ? new AbortController().signal : AbortSignal.timeout(exitHookMs);
  try {
    await runtime.runOwn("agent_exit", envelope, signal);
    if (signal.aborted) throw new Error(`the chain was cut off after ${exitHookMs} ms (exitHookMs)`);
  } catch (error) {
    receipts.write({
      kind: "fault",
      fault: "agent_exit_failed",
      event: "agent_exit",
      detail: redactor.text(String(error)),
    });
  }
}
