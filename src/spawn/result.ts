// The result of a run: always delivered, whatever happened, in one shape.

import type { ProveState } from "../compiler/plan.ts";
import type { Provider } from "../profile/events.ts";
import type { RunAttestation } from "./attestation.ts";
import type { Outcome } from "./settle.ts";

export interface Extinction {
  /**
   * `proven`: the run's PID namespace was seen empty. `swept`: tree, group and marker sweep found nothing left. `unproven`: something stays,
   * or this platform cannot tell.
   */
  readonly state: "proven" | "swept" | "unproven";
  /** `pidns`, or what was swept, for example `tree+group+marker`. */
  readonly method: string;
  /** Process ids that are still there. */
  readonly survivors: readonly number[];
}

export interface HookCounts {
  /** Calls that reached the broker. */
  fired: number;
  /** Hooks that were run. */
  ran: number;
  denied: number;
  /** Hooks that crashed, timed out or could not be understood. */
  failed: number;
  /** Answers nobody waited for any more. */
  late: number;
}

export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedInputTokens?: number;
}

export interface RunResult {
  readonly runId: string;
  readonly provider: Provider;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Ours. */
  readonly sessionId: string;
  readonly providerSessionId: string | undefined;
  readonly finalText: string | undefined;
  readonly turns: number | undefined;
  readonly usage: Usage | undefined;
  readonly costUsd: number | undefined;
  readonly durationMs: number;
  readonly hooks: Readonly<HookCounts>;
  /** What is known about each rendered event. Frozen. */
  readonly attestation: RunAttestation;
  readonly extinction: Extinction;
  /** Last 256 KiB of the provider's stderr, redacted; it begins with a whole character. */
  readonly stderrTail: string;
  /** File of the receipts; undefined with a sink. */
  readonly receiptPath: string | undefined;
  /** Hash of the last line of the receipts: kept elsewhere, it shows a file that was rewritten as a whole. */
  readonly receiptHead: string | undefined;
  /** Set when receipts could not be written. */
  readonly receiptError: string | undefined;
  /** Hooks of the machine's managed policy that ran beside ours. */
  readonly foreignHooks: readonly { readonly event: string; readonly source: string }[];
  /** What isolation left out, and other things worth telling. */
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly prove: ProveState;
}
