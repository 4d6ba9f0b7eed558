import { expect, test } from "vitest";
import { baseEnvelope, ENVELOPE_SCHEMAS } from "../../src/profile/envelope.ts";
import {
  capabilityOf,
  EVENT_NAMES,
  type EventName,
  isEventName,
  SEAMLESS_EVENTS,
} from "../../src/profile/events.ts";

const context = { provider: "claude", sessionId: "s", runId: "r", cwd: "/w" } as const;
const tool = { tool_name: "Bash", tool_input: { command: "ls" }, tool_kind: "shell" };

const FIELDS: Partial<Record<EventName, object>> = {
  UserPromptSubmit: { prompt: "", permission_mode: "default" },
  PreToolUse: tool,
  PostToolUse: { ...tool, tool_response: null },
  PostToolUseFailure: { ...tool, tool_response: { error: "" } },
  PermissionRequest: tool,
  agent_prompt: { prompt: "p", permission_mode: "default" },
  agent_exit: {
    outcome: "success",
    reason: "",
    exit_code: null,
    signal: null,
    duration_ms: 0,
    extinction: { state: "swept" },
    hooks: {},
  },
};

const whole = (event: EventName) => ({
  ...baseEnvelope(event, context),
  provider_session_id: "p",
  ...FIELDS[event],
});

test.each(EVENT_NAMES)("%s: the documented envelope is valid and foreign fields pass through", (event) => {
  const envelope = { ...whole(event), anything: { else: 1 } };
  expect(ENVELOPE_SCHEMAS[event].parse(envelope)).toEqual(envelope);
});

test.each(EVENT_NAMES)("%s: the envelope of another event is not valid", (event) => {
  const other = EVENT_NAMES.find((name) => name !== event) as EventName;
  expect(ENVELOPE_SCHEMAS[event].safeParse({ ...whole(event), hook_event_name: other }).success).toBe(false);
});

test.each(["session_id", "cwd", "hook_event_name", "harness", "profile", "run_id"])(
  "every event promises %s",
  (field) => {
    const without = EVENT_NAMES.filter((event) => {
      const { [field]: _gone, ...rest } = whole(event) as Record<string, unknown>;
      return ENVELOPE_SCHEMAS[event].safeParse(rest).success;
    });
    expect(without).toEqual([]);
  },
);

test.each(Object.entries(FIELDS))("%s promises each of its fields", (event, fields) => {
  const optional = Object.keys(fields).filter((field) => {
    const { [field]: _gone, ...rest } = whole(event as EventName) as Record<string, unknown>;
    return ENVELOPE_SCHEMAS[event as EventName].safeParse(rest).success;
  });
  expect(optional).toEqual([]);
});

test("a name that is only inherited is no event", () => {
  expect(["constructor", "__proto__", "toString", ""].map(isEventName)).toEqual([false, false, false, false]);
});

test("no event is both known and without a seam", () => {
  expect(SEAMLESS_EVENTS.filter(isEventName)).toEqual([]);
});

test("only an event that waits for its verdict may accept one", () => {
  const wrong = EVENT_NAMES.filter((event) => {
    const { accepts, awaited } = capabilityOf(event);
    return accepts.length > 0 && !awaited;
  });
  expect(wrong).toEqual([]);
});

test("every gate can deny", () => {
  const wrong = EVENT_NAMES.filter((event) => {
    const { accepts, role } = capabilityOf(event);
    return role === "gate" && !accepts.includes("deny");
  });
  expect(wrong).toEqual([]);
});
