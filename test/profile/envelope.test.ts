import { expect, test } from "vitest";
import { baseEnvelope, ENVELOPE_SCHEMAS } from "../../src/profile/envelope.ts";
import {
  capabilityOf,
  EVENT_NAMES,
  type EventName,
  isEventName,
  PROVIDERS,
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
  PreModelCall: { model_request: {}, attempt: 1 },
  PostModelCall: { model_response: null, attempt: 2 },
  ErrorOccurred: { error: { name: "Error", message: "" }, attempt: 1 },
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

/** Events of a program that owns its model and tool loop: there is no provider, and no session of one. */
const isHostFired = (event: EventName) => PROVIDERS.every((provider) => !capabilityOf(event)[provider].fires);

const whole = (event: EventName) => {
  const { provider, ...base } = baseEnvelope(event, context);
  return {
    ...base,
    ...(isHostFired(event) ? {} : { provider, provider_session_id: "p" }),
    ...FIELDS[event],
  };
};

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

test("the events that no provider fires are those of a host's model calls", () => {
  expect(EVENT_NAMES.filter(isHostFired)).toEqual(["PreModelCall", "PostModelCall", "ErrorOccurred"]);
});

test.each(["PreModelCall", "PostModelCall", "ErrorOccurred"] as const)(
  "%s counts attempts from 1",
  (event) => {
    for (const attempt of [0, -1, 1.5, "1", null])
      expect(ENVELOPE_SCHEMAS[event].safeParse({ ...whole(event), attempt }).success).toBe(false);
  },
);
