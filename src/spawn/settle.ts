// Decides outcome and reason from what was seen, once, at the end. Pure: the same facts always settle the same way.

/** How a run ended. `refused` and `lost` never come from here: the first is decided before the run, the second by recovery. */
export type Outcome =
  | "success"
  | "failed"
  | "prompt_blocked"
  | "incomplete"
  | "interrupted"
  | "timed_out"
  | "unenforced"
  | "refused"
  | "lost";

/** Why Bridle itself ended the run; the first to say so wins. */
export type StopCause =
  | { readonly kind: "stopped" | "aborted" | "interrupted"; readonly reason: string }
  | { readonly kind: "idle" | "wall" | "lingered" }
  | { readonly kind: "unenforced" | "hook_loop"; readonly reason: string };

/** `no_message`: the provider calls its turn complete, but the model said nothing in it. */
export type FinalStatus = "ok" | "error" | "prompt_blocked" | "interrupted" | "no_message";

export interface RunFacts {
  /** The last final message of the provider, if any. */
  readonly finalMessage: { readonly status: FinalStatus; readonly reason: string } | undefined;
  /** A `UserPromptSubmit` hook of ours denied. */
  readonly isPromptDenied: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stopCause: StopCause | undefined;
  /** The output ended inside a line. */
  readonly isTruncated: boolean;
  readonly isAttested: boolean;
  /** Faults of the guard path that were seen, whatever else happened. */
  readonly faults: readonly string[];
  /** What is missing of the evidence that the guards were in force: they keep a run from being a success, and change nothing else. */
  readonly doubts: readonly string[];
}

export interface Settlement {
  readonly outcome: Outcome;
  readonly reason: string;
}

/** `success` needs attested hooks, no fault, the provider's final message and a clean exit (P10). */
export function settleRun(facts: RunFacts): Settlement {
  const { finalMessage, stopCause, exitCode, signal, faults } = facts;
  if (stopCause?.kind === "unenforced") return { outcome: "unenforced", reason: stopCause.reason };
  if (faults.length > 0) return { outcome: "unenforced", reason: faults[0] ?? "fault" };
  if (stopCause?.kind === "hook_loop") return { outcome: "failed", reason: stopCause.reason };
  if (facts.isPromptDenied)
    return { outcome: "prompt_blocked", reason: "a UserPromptSubmit hook denied the prompt" };
  if (finalMessage?.status === "prompt_blocked")
    return {
      outcome: "prompt_blocked",
      reason: "the agent reports a blocked prompt; no hook of this run denied it",
    };
  if (stopCause?.kind === "idle" || stopCause?.kind === "wall")
    return { outcome: "timed_out", reason: stopCause.kind };
  if (stopCause !== undefined && "reason" in stopCause)
    return { outcome: "interrupted", reason: stopCause.reason };
  if (facts.isTruncated) return { outcome: "incomplete", reason: "output_truncated" };
  if (finalMessage === undefined) {
    if (stopCause?.kind === "lingered")
      return { outcome: "incomplete", reason: "lingered in a turn without a final message" };
    if (exitCode === 0) return { outcome: "incomplete", reason: "exited 0 without a final message" };
    return {
      outcome: "failed",
      reason: signal === null ? `spawn_exited_early: exit ${exitCode}` : `killed by ${signal}`,
    };
  }
  if (finalMessage.status === "interrupted") return { outcome: "interrupted", reason: finalMessage.reason };
  if (finalMessage.status === "no_message") return { outcome: "incomplete", reason: finalMessage.reason };
  if (finalMessage.status === "error") return { outcome: "failed", reason: finalMessage.reason };
  if (stopCause?.kind !== "lingered" && exitCode !== 0) {
    return {
      outcome: "failed",
      reason:
        signal === null
          ? `exit ${exitCode} after a final message`
          : `killed by ${signal} after a final message`,
    };
  }
  const [doubt] = facts.doubts;
  if (doubt !== undefined) return { outcome: "unenforced", reason: doubt };
  if (!facts.isAttested) return { outcome: "unenforced", reason: "the hooks were not attested" };
  return { outcome: "success", reason: stopCause?.kind === "lingered" ? "lingered" : finalMessage.reason };
}
