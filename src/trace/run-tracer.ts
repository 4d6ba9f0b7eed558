// What follows a run as it goes, told what its receipts are told: names and times, never contents. Knows no tracing library; what a tracer throws
// must not reach the run.

import type { Provider } from "../profile/events.ts";
import type { ReceiptLine } from "../receipts/receipt.ts";

export interface TracedRun {
  readonly runId: string;
  /** Ours. */
  readonly sessionId: string;
  readonly provider: Provider;
  readonly providerVersion: string;
  readonly model: string | undefined;
  /** Where the run's place in a trace may be said: TRACEPARENT, TRACESTATE. */
  readonly env: NodeJS.ProcessEnv;
}

export interface RunTrace {
  /** Variables for the agent and for its hooks; none when nothing is traced. */
  readonly env: Readonly<Record<string, string>>;
  /** Every line of the receipts but the first, when it happens. */
  note(line: ReceiptLine): void;
  /** Of a run that ends without a last line, because it was never admitted. May be called again. */
  end(): void;
}

/** `openTelemetry()` of `agent-bridle/trace` makes one. */
export interface RunTracer {
  /** Before agent_prompt decides. */
  begin(run: TracedRun): RunTrace;
}

/** A trace that stops with the first error, which is told once. */
export function beginTrace(
  tracer: RunTracer | undefined,
  run: TracedRun,
  onError: (error: unknown) => void,
): RunTrace {
  let trace: RunTrace | undefined;
  const attempt = (step: () => void) => {
    try {
      step();
    } catch (error) {
      trace = undefined;
      onError(error);
    }
  };
  attempt(() => {
    trace = tracer?.begin(run);
  });
  return {
    env: trace?.env ?? {},
    note: (line) => attempt(() => trace?.note(line)),
    end: () => attempt(() => trace?.end()),
  };
}
