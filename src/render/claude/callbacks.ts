// Hooks as callbacks on claude's control channel: registered by `initialize`, asked as `hook_callback`, answered on its stdin
// (docs/providers/claude.md C-49 to C-52). Pure.

import type { HookPlan } from "../../compiler/plan.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { capabilityOf, isEventName } from "../../profile/events.ts";
import type { CallbackMessage, CallbackProtocol, EncodedVerdict } from "../provider.ts";
import { CALLBACK_EVENTS } from "./callback-events.ts";

const PREFIX = "bridle-";
const CANARY_ID = `${PREFIX}canary`;

/** The `hooks` of `initialize`; undefined when no event goes this way. */
export function renderCallbacks({ events, transports, deadlines }: HookPlan): JsonObject | undefined {
  const ours = events.filter((event) => transports[event] === "callback");
  if (ours.length === 0) return undefined;
  const hooks: JsonObject = {
    // Asked once a prompt, before the model is: shows that callbacks come at all. Its answer decides nothing.
    UserPromptSubmit: [{ hookCallbackIds: [CANARY_ID], timeout: CANARY_SECONDS }],
  };
  for (const event of ours)
    hooks[event] = [
      {
        hookCallbackIds: [`${PREFIX}${event}`],
        timeout: deadlines[event]?.providerSeconds ?? CANARY_SECONDS,
        ...(capabilityOf(event).role === "gate" ? { onFailure: "block" } : {}),
      },
    ];
  return hooks;
}

/** Seconds; answered at once, but a busy machine may need a while. */
const CANARY_SECONDS = 20;

export const callbacks: CallbackProtocol = {
  events: CALLBACK_EVENTS,
  read({ type, request_id: id, request }) {
    if (typeof id !== "string") return undefined;
    if (type === "control_cancel_request") return { type: "cancelled", requestId: id };
    if (type !== "control_request" || !isJsonObject(request) || request.subtype !== "hook_callback")
      return undefined;
    return toMessage(id, request.callback_id, isJsonObject(request.input) ? request.input : undefined);
  },
  readStart(text) {
    const [, id, callback] =
      /^\{"type":"control_request","request_id":"([\w-]+)","request":\{"subtype":"hook_callback","callback_id":"([\w-]+)"/.exec(
        text,
      ) ?? [];
    return id === undefined ? undefined : toMessage(id, callback, {});
  },
  encode: (requestId, answer) =>
    JSON.stringify({ type: "control_response", response: toResponse(requestId, answer) }),
};

function toMessage(
  requestId: string,
  callback: Json | undefined,
  envelope: JsonObject | undefined,
): CallbackMessage {
  if (callback === CANARY_ID) return { type: "canary", requestId };
  const event = typeof callback === "string" ? callback.slice(PREFIX.length) : "";
  if (envelope === undefined || callback !== `${PREFIX}${event}` || !isEventName(event))
    return {
      type: "unknown",
      requestId,
      detail: `callback ${JSON.stringify(callback)}${envelope === undefined ? " without an envelope" : ""}`,
    };
  return { type: "asked", requestId, event, envelope };
}

/** A denial without JSON is our own fallback: an error reply stops a gated call, and elsewhere changes nothing (C-49). */
function toResponse(requestId: string, answer: EncodedVerdict | { readonly failed: string }): JsonObject {
  const error = "failed" in answer ? answer.failed : undefined;
  if (error !== undefined) return { subtype: "error", request_id: requestId, error };
  const { code, stdout, stderr } = answer as EncodedVerdict;
  if (stdout === "" && code === 2) return { subtype: "error", request_id: requestId, error: stderr };
  return { subtype: "success", request_id: requestId, response: stdout === "" ? {} : JSON.parse(stdout) };
}
