import { describe, expect, it } from "vitest";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import type { EventName } from "../../src/profile/events.ts";
import { createAttestation } from "../../src/spawn/attestation.ts";

const attest = (events: EventName[] = ["SessionStart", "PreToolUse", "Stop"]) =>
  createAttestation({ events, transports: {} });
const envelope = (fields: object = {}) => fields as Envelope;
const rowOf = (attestation: ReturnType<typeof attest>, event: string) =>
  attestation.report().events.find((row) => row.event === event);

describe("what is known about an event", () => {
  it("counts calls as answered, late and never", () => {
    const seen = attest();
    for (const call of [1, 2, 3, 4]) seen.asked("PreToolUse", call);
    seen.answered("PreToolUse", 1, 0);
    seen.late(2);
    // The broker's own deny at its deadline reaches the caller, and was late all the same.
    seen.late(3);
    seen.answered("PreToolUse", 3, 2);
    seen.late(99);
    expect(rowOf(seen, "PreToolUse")).toMatchObject({ fired: 4, answered: 1, late: 2, never: 1 });
  });

  it("lists every rendered event, also one that never fired, preflighted only once that was shown", () => {
    const seen = attest();
    const row = { rendered: true, transport: "shim", fired: 0, answered: 0, late: 0, never: 0 };
    expect(seen.report().events).toEqual([
      { event: "SessionStart", ...row, preflighted: false },
      { event: "PreToolUse", ...row, preflighted: false },
      { event: "Stop", ...row, preflighted: false },
    ]);
    seen.preflighted([]);
    expect(seen.report().events.every(({ preflighted }) => preflighted)).toBe(true);
  });

  it("says how each event is asked, and misses callbacks until one has come", () => {
    const seen = createAttestation({
      events: ["SessionStart", "PreToolUse"],
      transports: { SessionStart: "shim", PreToolUse: "callback" },
    });
    expect(seen.report().events.map(({ transport }) => transport)).toEqual(["shim", "callback"]);
    expect(seen.isCallbackMissing).toBe(true);
    seen.callbackCame();
    expect(seen.isCallbackMissing).toBe(false);
    expect(attest().isCallbackMissing).toBe(false);
  });

  it("is frozen all the way down", () => {
    const report = attest().report();
    expect([report, report.events, report.events[0]].every(Object.isFrozen)).toBe(true);
  });

  it("leaves an event alone that was not rendered", () => {
    const seen = attest();
    seen.asked("PreCompact", 1);
    seen.answered("PreCompact", 1, 0);
    expect(seen.checkEnd("PreCompact", 0)).toBeUndefined();
  });

  it("names gate calls that never got an answer", () => {
    const seen = attest(["PreToolUse", "Stop"]);
    seen.asked("PreToolUse", 1);
    seen.identified("PreToolUse", 1, envelope({ tool_name: "Bash", tool_use_id: "t1" }));
    seen.asked("PreToolUse", 2);
    seen.late(2);
    seen.asked("Stop", 3);
    expect(seen.doubts()).toEqual(["unanswered: PreToolUse of Bash, tool call t1 got no answer"]);
  });
});

describe("the prompt's gate", () => {
  it("that was not asked by the end is a doubt", () => {
    const seen = attest(["UserPromptSubmit"]);
    expect([seen.wasAsked("UserPromptSubmit"), seen.doubts()]).toEqual([
      false,
      ["never_asked: UserPromptSubmit was not asked about the prompt"],
    ]);
    seen.asked("UserPromptSubmit", 1);
    seen.answered("UserPromptSubmit", 1, 0);
    expect([seen.wasAsked("UserPromptSubmit"), seen.doubts()]).toEqual([true, []]);
  });
});

describe("the canary", () => {
  it("is missing until a SessionStart was read and answered, then it has come for good", async () => {
    const seen = attest();
    expect([seen.isCanaryMissing, seen.report().canary]).toEqual([true, "missing"]);
    seen.asked("SessionStart", 1);
    expect(seen.isCanaryMissing).toBe(true);
    seen.identified("SessionStart", 1, envelope());
    expect(seen.isCanaryMissing).toBe(true);
    seen.answered("SessionStart", 1, 0);
    await seen.canary;
    expect([seen.isCanaryMissing, seen.report().canary]).toEqual([false, "came"]);
  });

  it("is not another event's call", () => {
    const seen = attest();
    seen.asked("PreToolUse", 1);
    seen.identified("PreToolUse", 1, envelope({ tool_name: "Bash" }));
    seen.answered("PreToolUse", 1, 0);
    expect(seen.isCanaryMissing).toBe(true);
  });

  it("is not one whose envelope could not be read, nor one whose caller was gone", () => {
    const seen = attest();
    seen.asked("SessionStart", 1);
    seen.answered("SessionStart", 1, 0);
    seen.asked("SessionStart", 2);
    seen.identified("SessionStart", 2, envelope());
    seen.late(2);
    seen.answered("SessionStart", 2, 0);
    expect(seen.isCanaryMissing).toBe(true);
  });

  it("that never came is a doubt", () => {
    expect(attest().doubts()).toEqual([
      "canary: the agent's SessionStart hook never had its answer from the broker",
    ]);
    expect(attest([]).doubts()).toEqual([]);
  });

  it("is not needed when the agent fires nothing", async () => {
    const seen = attest([]);
    await seen.canary;
    expect([seen.isCanaryMissing, seen.report().canary]).toEqual([false, "none"]);
  });
});

describe("an exit code that the agent saw", () => {
  it("is fine as often as it was given", () => {
    const seen = attest();
    for (const call of [1, 2]) {
      seen.asked("PreToolUse", call);
      seen.answered("PreToolUse", call, 0);
      expect(seen.checkEnd("PreToolUse", 0)).toBeUndefined();
    }
  });

  it("more often than it was given is told with event, code and the calls it may be", () => {
    const seen = attest();
    seen.asked("PreToolUse", 1);
    seen.identified("PreToolUse", 1, envelope({ tool_name: "Bash", tool_use_id: "t1" }));
    seen.answered("PreToolUse", 1, 2);
    seen.asked("PreToolUse", 2);
    seen.identified("PreToolUse", 2, envelope({ tool_name: "Write", tool_use_id: "t2" }));
    expect(seen.checkEnd("PreToolUse", 0)).toBe(
      "the agent saw exit 0 of a PreToolUse hook 1 times and Bridle gave it 0 times" +
        "; without an answer: PreToolUse of Write, tool call t2" +
        "; answered otherwise, last: PreToolUse of Bash, tool call t1",
    );
  });

  it("is not counted where a hook of managed policy ends with the same codes", () => {
    const seen = attest();
    seen.preflighted(["PreToolUse"]);
    expect(seen.checkEnd("PreToolUse", 0)).toBeUndefined();
    expect(seen.checkEnd("PreToolUse", 1)).toBeDefined();
    expect(seen.checkEnd("Stop", 0)).toBeDefined();
  });

  it("is counted by event: an answer on one does not cover another", () => {
    const seen = attest();
    seen.asked("Stop", 1);
    seen.answered("Stop", 1, 0);
    expect(seen.checkEnd("PreToolUse", 0)).toBeDefined();
  });
});
