// The makers of answers: what a function says with one is what the profile reads out of it, on every event.

import { describe, expect, test } from "vitest";
import { addContext, ask, deny, retry, rewrite } from "../../src/profile/answer.ts";
import type { VerdictField } from "../../src/profile/events.ts";
import { EVENT_NAMES, EVENTS, type EventName, interpret } from "./support.ts";

const POLICY = { onFailure: "closed", grants: false } as const;
const of = (event: EventName) => ({ hook_event_name: event });

const read = (answer: unknown, event: EventName) =>
  interpret({ kind: "exit", code: 0 }, JSON.stringify(answer), "", event, POLICY);

const accepting = (field: VerdictField) =>
  EVENT_NAMES.filter((event) => (EVENTS[event].accepts as readonly VerdictField[]).includes(field));
const refusing = (field: VerdictField) =>
  EVENT_NAMES.filter((event) => !(EVENTS[event].accepts as readonly VerdictField[]).includes(field));

describe("deny", () => {
  test.each(accepting("deny"))("on %s is read as a denial with its reason, and nothing is odd", (event) => {
    expect(read(deny(of(event), "not here"), event)).toEqual({
      verdict: { decision: "deny", reason: "not here" },
      notes: [],
      failed: false,
    });
  });

  test.each(refusing("deny"))("on %s, which nothing can stop, is told and ignored", (event) => {
    const { verdict, notes } = read(deny(of(event), "not here"), event);
    expect(verdict).toEqual({ decision: "none" });
    expect(notes).toMatchObject([{ code: "field_ignored" }]);
  });

  test("is written where each of the three kinds of event has its decision", () => {
    expect(deny(of("PreToolUse"), "r")).toEqual({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: "r",
      },
    });
    expect(deny(of("PermissionRequest"), "r")).toEqual({
      hookSpecificOutput: {
        hookEventName: "PermissionRequest",
        decision: { behavior: "deny", message: "r" },
      },
    });
    expect(deny(of("Stop"), "r")).toEqual({ decision: "block", reason: "r" });
  });
});

describe("ask", () => {
  test("on PreToolUse asks with its reason, and denies where nobody is there", () => {
    const { verdict, asked, failed } = read(ask(of("PreToolUse"), "sure?"), "PreToolUse");
    expect({ asked: asked?.reason, failed }).toEqual({ asked: "sure?", failed: false });
    expect(verdict).toEqual({ decision: "deny", reason: expect.stringContaining("sure?") });
  });

  test.each(EVENT_NAMES.filter((event) => event !== "PreToolUse" && EVENTS[event].role === "gate"))(
    "on %s, where nobody can be asked, denies: it admits nothing",
    (event) => {
      const { verdict, asked } = read(ask(of(event), "sure?"), event);
      expect(verdict.decision).toBe("deny");
      expect(asked).toBeUndefined();
    },
  );
});

describe("rewrite", () => {
  const input = { command: "ls", nested: { deep: [1, null] } };

  test.each(accepting("rewrite"))("on %s replaces what runs, and grants nothing by itself", (event) => {
    expect(read(rewrite(of(event), input), event)).toEqual({
      verdict: { decision: "rewrite", updatedInput: input, grants: false },
      notes: [],
      failed: false,
    });
  });

  test.each(refusing("rewrite"))("on %s, where nothing can be replaced, is told and ignored", (event) => {
    const { verdict, notes } = read(rewrite(of(event), input), event);
    expect(verdict).toEqual({ decision: "none" });
    expect(notes).toMatchObject([{ code: "field_ignored" }]);
  });

  test("with no key at all is a rewrite to nothing, and not none", () => {
    expect(read(rewrite(of("PreToolUse"), {}), "PreToolUse").verdict).toMatchObject({
      decision: "rewrite",
      updatedInput: {},
    });
  });
});

describe("addContext", () => {
  test.each(accepting("context"))("on %s is for the model, and decides nothing", (event) => {
    expect(read(addContext(of(event), "by the way"), event)).toEqual({
      verdict: { decision: "none", context: "by the way" },
      notes: [],
      failed: false,
    });
  });

  test.each(refusing("context"))("on %s, where no model is told, is told and ignored", (event) => {
    const { verdict, notes } = read(addContext(of(event), "by the way"), event);
    expect(verdict).toEqual({ decision: "none" });
    expect(notes).toMatchObject([{ code: "field_ignored" }]);
  });
});

describe("retry", () => {
  test("on ErrorOccurred asks for one more call", () => {
    expect(read(retry(of("ErrorOccurred")), "ErrorOccurred")).toEqual({
      verdict: { decision: "none", retry: true },
      notes: [],
      failed: false,
    });
  });

  test.each(refusing("retry"))("on %s asks for nothing", (event) => {
    expect(read(retry(of(event)), event).verdict).toEqual({ decision: "none" });
  });
});

test.each(EVENT_NAMES)("an answer to %s names its event, so that no other reads it as its own", (event) => {
  for (const answer of [
    ask(of(event), "r"),
    rewrite(of(event), {}),
    addContext(of(event), "c"),
    retry(of(event)),
  ])
    expect(answer.hookSpecificOutput).toMatchObject({ hookEventName: event });
});

test("an answer takes nothing from the envelope but the event's name", () => {
  const envelope = { hook_event_name: "PreToolUse" as const, tool_input: { token: "hunter2" }, run_id: "r" };
  const answers = [
    deny(envelope, "r"),
    ask(envelope, "r"),
    rewrite(envelope, {}),
    addContext(envelope, "c"),
    retry(envelope),
  ];
  expect(JSON.stringify(answers)).not.toContain("hunter2");
});
