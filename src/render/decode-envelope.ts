// What both providers' envelopes have in common on the way to the profile's. Throws on anything that is not this event's envelope.

import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { baseEnvelope } from "../profile/envelope.ts";
import type { Envelope, EnvelopeContext } from "../profile/envelope-types.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import { describeTool } from "../profile/tool.ts";

export function decodeEnvelope(
  event: EventName,
  raw: string | JsonObject,
  context: EnvelopeContext,
): Envelope {
  const sent: unknown = typeof raw === "string" ? JSON.parse(raw) : raw;
  if (!isJsonObject(sent)) throw new Error(`the ${event} envelope is not a JSON object`);
  if (sent.hook_event_name !== event) {
    throw new Error(`expected a ${event} envelope, got ${JSON.stringify(sent.hook_event_name)}`);
  }
  const { session_id: providerSessionId, cwd, ...rest } = sent;
  if (typeof providerSessionId !== "string" || typeof cwd !== "string")
    throw new Error(`the ${event} envelope has no session_id or cwd`);
  const envelope: JsonObject = {
    ...rest,
    ...baseEnvelope(event, context),
    cwd,
    provider_session_id: providerSessionId,
  };
  if (event === "UserPromptSubmit") {
    envelope.permission_mode = rest.permission_mode ?? "default";
    if (rest.model === undefined && context.model !== undefined) envelope.model = context.model;
  }
  // Without a name no matcher could match, and the call would pass every guard.
  if (capabilityOf(event).subject === "tool_name" && typeof rest.tool_name !== "string")
    throw new Error(`the ${event} envelope has no tool_name`);
  if (typeof rest.tool_name === "string") Object.assign(envelope, toolFields(event, rest, context));
  return envelope as Envelope;
}

function toolFields(event: EventName, sent: JsonObject, { provider }: EnvelopeContext): JsonObject {
  if (!isJsonObject(sent.tool_input)) throw new Error(`the ${event} envelope has no tool_input object`);
  const described = describeTool(
    sent.tool_name as string,
    sent.tool_input,
    provider,
  ) as unknown as JsonObject;
  if (event !== "PostToolUseFailure") return described;
  const error: Json = typeof sent.error === "string" ? sent.error : JSON.stringify(sent.error ?? "unknown");
  return { ...described, tool_response: { error } };
}
