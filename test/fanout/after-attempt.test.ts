// What follows an attempt, by its class and by what came before.

import { describe, expect, it, test } from "vitest";
import { decideAfter, type RetrySettings } from "../../src/fanout/after-attempt.ts";
import { DEFAULT_FAN_OUT } from "../../src/fanout/options.ts";
import type { AttemptEnd } from "../../src/fanout/run-attempt.ts";
import type { EndingClass } from "../../src/retry/classify-ending.ts";

const NOW = 1_000_000;
const settings: RetrySettings = { ...DEFAULT_FAN_OUT, backoff: { random: () => 0.5 } };
const end = (kind: EndingClass, more: Partial<AttemptEnd> = {}): AttemptEnd => ({
  outcome: kind === "transient" || kind === "deterministic" ? "failed" : kind,
  reason: "why",
  class: kind,
  providerSessionId: "session",
  ...more,
});
const decide = (
  ended: AttemptEnd,
  {
    failed = 0,
    isStopping = false,
    ...changes
  }: Partial<RetrySettings> & { failed?: number; isStopping?: boolean } = {},
) => {
  const earlier = Array.from({ length: failed }, () => ({ class: "transient" as const }));
  return decideAfter(ended, { settings: { ...settings, ...changes }, earlier, isStopping, now: NOW });
};

describe("an attempt that ended", () => {
  it.each<EndingClass>(["success", "deterministic", "refused", "lost", "interrupted"])(
    "as %s is the task's last",
    (kind) => {
      const ended = end(kind);
      expect(decide(ended)).toEqual({ state: "finished", outcome: ended.outcome, reason: "why" });
    },
  );

  test("in passing is followed by another, later each time, in the same session", () => {
    const waits = [0, 1, 2].map((failed) => decide(end("transient"), { failed }));
    expect(waits).toEqual(
      [500, 1_000, 2_000].map((ms) => ({ state: "waiting", notBefore: NOW + ms, resume: "session" })),
    );
    expect(decide(end("transient"), { failed: 3 })).toMatchObject({ state: "finished", outcome: "failed" });
    expect(decide(end("transient"), { retries: 0 })).toMatchObject({ state: "finished" });
  });

  test("in passing begins anew where that is asked for, or there is no session", () => {
    expect(decide(end("transient"), { session: "fresh" })).toMatchObject({
      state: "waiting",
      resume: undefined,
    });
    expect(decide(end("transient", { providerSessionId: undefined }))).toMatchObject({ resume: undefined });
  });

  test("at a limit waits for the reset, but not for ever", () => {
    const retryAt = NOW + 3_600_000;
    expect(decide(end("transient", { retryAt }))).toMatchObject({
      state: "waiting",
      notBefore: retryAt + 500,
    });
    expect(decide(end("transient", { retryAt }), { longestWaitMs: 1_000 })).toEqual({
      state: "finished",
      outcome: "failed",
      reason: `why; not tried again: the limit resets at ${new Date(retryAt).toISOString()}, which is too long to wait`,
    });
  });

  test("by a stop waits for a resume when it was the fan-out's own, else as the option says", () => {
    expect(decide(end("interrupted"), { isStopping: true })).toMatchObject({
      state: "waiting",
      resume: "session",
    });
    expect(decide(end("interrupted"), { onInterrupted: "retry" })).toMatchObject({
      state: "waiting",
      notBefore: 0,
    });
  });
});
