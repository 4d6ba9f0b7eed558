// Answers in the form the profile reads, for functions: what a command would print. Pure.

import type { JsonObject } from "../json.ts";
import type { EventName } from "./events.ts";

interface Asked {
  readonly hook_event_name: EventName;
}

/** The action does not happen; on feedback events the reason goes to the model. */
export function deny({ hook_event_name: event }: Asked, reason: string): JsonObject {
  if (event === "PreToolUse")
    return specific(event, { permissionDecision: "deny", permissionDecisionReason: reason });
  if (event === "PermissionRequest")
    return specific(event, { decision: { behavior: "deny", message: reason } });
  return { decision: "block", reason };
}

/** `PreToolUse` alone: a person decides; where nobody is there to ask, the action is denied. */
export function ask({ hook_event_name: event }: Asked, reason: string): JsonObject {
  return specific(event, { permissionDecision: "ask", permissionDecisionReason: reason });
}

/** `PreToolUse` and `PreModelCall`: what runs instead, as a whole. */
export function rewrite({ hook_event_name: event }: Asked, updatedInput: JsonObject): JsonObject {
  return specific(event, { updatedInput });
}

/** Text for the model. */
export function addContext({ hook_event_name: event }: Asked, additionalContext: string): JsonObject {
  return specific(event, { additionalContext });
}

/** `ErrorOccurred` alone: the call is made once more, as far as the host's cap allows. */
export function retry({ hook_event_name: event }: Asked): JsonObject {
  return specific(event, { retry: true });
}

function specific(hookEventName: EventName, fields: JsonObject): JsonObject {
  return { hookSpecificOutput: { hookEventName, ...fields } };
}
