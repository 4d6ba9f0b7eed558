import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type RunFacts, settleRun } from "../../src/spawn/settle.ts";

const GOOD: RunFacts = {
  finalMessage: { status: "ok", reason: "completed" },
  isPromptDenied: false,
  exitCode: 0,
  signal: null,
  stopCause: undefined,
  isTruncated: false,
  isAttested: true,
  faults: [],
  doubts: [],
};

describe("a run", () => {
  test.each<[string, Partial<RunFacts>, string, string]>([
    ["with everything in order", {}, "success", "completed"],
    [
      "that lingered",
      { stopCause: { kind: "lingered" }, exitCode: null, signal: "SIGKILL" },
      "success",
      "lingered",
    ],
    [
      "that lingered in another turn",
      { finalMessage: undefined, stopCause: { kind: "lingered" }, exitCode: 143 },
      "incomplete",
      "lingered in a turn without a final message",
    ],
    [
      "without a final message",
      { finalMessage: undefined },
      "incomplete",
      "exited 0 without a final message",
    ],
    [
      "that exited 1 without one",
      { finalMessage: undefined, exitCode: 1 },
      "failed",
      "spawn_exited_early: exit 1",
    ],
    [
      "killed without one",
      { finalMessage: undefined, exitCode: null, signal: "SIGSEGV" },
      "failed",
      "killed by SIGSEGV",
    ],
    [
      "with an error message",
      { finalMessage: { status: "error", reason: "api_error" } },
      "failed",
      "api_error",
    ],
    [
      "interrupted by itself",
      { finalMessage: { status: "interrupted", reason: "aborted" } },
      "interrupted",
      "aborted",
    ],
    ["that exited 3 after a good message", { exitCode: 3 }, "failed", "exit 3 after a final message"],
    [
      "killed after a good message",
      { exitCode: null, signal: "SIGTERM" },
      "failed",
      "killed by SIGTERM after a final message",
    ],
    [
      "in which the model said nothing",
      { finalMessage: { status: "no_message", reason: "silent" } },
      "incomplete",
      "silent",
    ],
    ["cut inside a line", { isTruncated: true }, "incomplete", "output_truncated"],
    ["whose hooks were not attested", { isAttested: false }, "unenforced", "the hooks were not attested"],
    ["with a fault", { faults: ["tampered: x"] }, "unenforced", "tampered: x"],
    ["ended as unenforced", { stopCause: { kind: "unenforced", reason: "r" } }, "unenforced", "r"],
    ["in a hook loop", { stopCause: { kind: "hook_loop", reason: "r" } }, "failed", "r"],
    ["silent for too long", { stopCause: { kind: "idle" } }, "timed_out", "idle"],
    ["that took too long", { stopCause: { kind: "wall" } }, "timed_out", "wall"],
    ["aborted", { stopCause: { kind: "aborted", reason: "aborted" } }, "interrupted", "aborted"],
  ])("%s is settled", (_name, facts, outcome, reason) => {
    expect(settleRun({ ...GOOD, ...facts })).toEqual({ outcome, reason });
  });

  test.each<Partial<RunFacts>>([
    { isPromptDenied: true },
    { finalMessage: { status: "prompt_blocked", reason: "" } },
    { isPromptDenied: true, finalMessage: undefined, exitCode: 1 },
  ])("with a blocked prompt (%j) is prompt_blocked", (facts) => {
    expect(settleRun({ ...GOOD, ...facts }).outcome).toBe("prompt_blocked");
  });
});

const facts: fc.Arbitrary<RunFacts> = fc.record({
  finalMessage: fc.option(
    fc.record({
      status: fc.constantFrom(
        "ok" as const,
        "error" as const,
        "prompt_blocked" as const,
        "interrupted" as const,
      ),
      reason: fc.string(),
    }),
    { nil: undefined },
  ),
  isPromptDenied: fc.boolean(),
  exitCode: fc.option(fc.constantFrom(0, 1, 137)),
  signal: fc.option(fc.constantFrom("SIGTERM", "SIGKILL")),
  stopCause: fc.option(
    fc.oneof(
      fc.record({
        kind: fc.constantFrom("stopped" as const, "aborted" as const, "interrupted" as const),
        reason: fc.string(),
      }),
      fc.record({ kind: fc.constantFrom("idle" as const, "wall" as const, "lingered" as const) }),
      fc.record({ kind: fc.constantFrom("unenforced" as const, "hook_loop" as const), reason: fc.string() }),
    ),
    { nil: undefined },
  ),
  isTruncated: fc.boolean(),
  isAttested: fc.boolean(),
  faults: fc.array(fc.string(), { maxLength: 2 }),
  doubts: fc.array(fc.string(), { maxLength: 2 }),
});

describe("whatever was seen", () => {
  test("success needs a good final message, a clean exit or linger, attested hooks, and no fault", () => {
    fc.assert(
      fc.property(facts, (seen) => {
        if (settleRun(seen).outcome !== "success") return;
        expect(seen.finalMessage?.status).toBe("ok");
        expect(seen.stopCause === undefined ? seen.exitCode : seen.stopCause.kind).toBe(
          seen.stopCause === undefined ? 0 : "lingered",
        );
        expect([seen.isAttested, seen.isTruncated, seen.isPromptDenied, seen.faults, seen.doubts]).toEqual([
          true,
          false,
          false,
          [],
          [],
        ]);
      }),
      { numRuns: 20_000 },
    );
  });

  test("a doubt changes what is a success but for the attestation, and nothing else", () => {
    fc.assert(
      fc.property(facts, (seen) => {
        const without = settleRun({ ...seen, doubts: [] });
        const [doubt] = seen.doubts;
        const isGood = settleRun({ ...seen, doubts: [], isAttested: true }).outcome === "success";
        const isDoubted = doubt !== undefined && isGood;
        expect(settleRun(seen)).toEqual(isDoubted ? { outcome: "unenforced", reason: doubt } : without);
      }),
      { numRuns: 20_000 },
    );
  });

  test("a fault always means unenforced", () => {
    fc.assert(
      fc.property(facts, (seen) => {
        if (seen.faults.length > 0) expect(settleRun(seen).outcome).toBe("unenforced");
      }),
    );
  });
});
