// What becomes of a task when an attempt of it has ended: another one, and when, or none. Pure, but for the jitter.

import { backoffMs } from "../retry/backoff.ts";
import type { FanOutSettings } from "./options.ts";
import type { AttemptEnd } from "./run-attempt.ts";
import type { AfterAttempt, StoredAttempt } from "./state-rows.ts";

export type RetrySettings = Pick<
  FanOutSettings,
  "retries" | "session" | "onInterrupted" | "longestWaitMs" | "backoff"
>;

export interface AfterOptions {
  readonly settings: RetrySettings;
  /** Attempts before this one. */
  readonly earlier: readonly Pick<StoredAttempt, "class">[];
  /** The fan-out itself was stopped: what it interrupted waits for a resume. */
  readonly isStopping: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export function decideAfter(
  end: AttemptEnd,
  { settings, earlier, isStopping, now }: AfterOptions,
): AfterAttempt {
  const { outcome, reason, retryAt, providerSessionId } = end;
  const resume = settings.session === "resume" ? providerSessionId : undefined;
  const finished = { state: "finished", outcome, reason } as const;
  if (end.class === "interrupted" && (isStopping || settings.onInterrupted === "retry"))
    return { state: "waiting", notBefore: 0, resume };
  if (end.class !== "transient") return finished;
  const failures = 1 + earlier.filter((attempt) => attempt.class === "transient").length;
  if (failures > settings.retries) return finished;
  if (retryAt !== undefined && retryAt - now > settings.longestWaitMs) {
    const resets = new Date(retryAt).toISOString();
    return {
      ...finished,
      reason: `${reason}; not tried again: the limit resets at ${resets}, which is too long to wait`,
    };
  }
  return {
    state: "waiting",
    notBefore: now + backoffMs(failures, retryAt, { ...settings.backoff, now: () => now }),
    resume,
  };
}

/** The run was stopped because its whole program was. */
export function isOwnStop({ class: kind, reason }: Pick<AttemptEnd, "class" | "reason">): boolean {
  return kind === "interrupted" && reason.startsWith("supervisor_stopping");
}
