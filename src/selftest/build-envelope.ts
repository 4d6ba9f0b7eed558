// A whole envelope of an event, as a run would give it, with the fields under test laid over it. Pure. It is never a run's: ids are zeros.

import { isJsonObject, type JsonObject } from "../json.ts";
import { baseEnvelope } from "../profile/envelope.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { capabilityOf, type EventName, PROVIDERS, type Provider } from "../profile/events.ts";
import { describeTool, toolKind } from "../profile/tool.ts";

export const STOCK_ID = "00000000-0000-4000-8000-000000000000";

/** Beside the fields that every envelope has. Tool events are told apart by their subject. */
const FIELDS: Readonly<Partial<Record<EventName, JsonObject>>> = {
  SessionStart: { source: "startup" },
  SessionEnd: { reason: "other" },
  UserPromptSubmit: { prompt: "Fix the failing test", permission_mode: "default" },
  PostToolUse: { tool_response: { stdout: "", stderr: "" } },
  PostToolUseFailure: { tool_response: { error: "exit 1" } },
  Stop: { stop_hook_active: false },
  SubagentStart: { agent_type: "general-purpose" },
  SubagentStop: { agent_type: "general-purpose", stop_hook_active: false },
  PreCompact: { trigger: "auto" },
  PostCompact: { trigger: "auto" },
  Notification: { notification_type: "idle_prompt", message: "waiting" },
  PreModelCall: {
    model_request: { messages: [{ role: "user", content: "Fix the failing test" }] },
    attempt: 1,
  },
  PostModelCall: { model_response: { content: "Done." }, attempt: 1 },
  ErrorOccurred: { error: { name: "Error", message: "overloaded" }, attempt: 1 },
  agent_prompt: { prompt: "Fix the failing test", permission_mode: "default" },
  agent_exit: {
    outcome: "success",
    reason: "done",
    exit_code: 0,
    signal: null,
    duration_ms: 1_000,
    extinction: { state: "swept", method: "sweep", survivors: 0 },
    hooks: { fired: 0, ran: 0, denied: 0, failed: 0, late: 0 },
  },
};

const TOOL: JsonObject = { tool_name: "Bash", tool_input: { command: "ls" } };

export interface EnvelopePlace {
  /** The folder the agent works in. */
  readonly cwd: string;
  /** Whose names a tool has, when the input does not say. @default claude */
  readonly provider?: Provider;
}

/** `input` replaces stock fields whole. `tool_kind`, `tool_command` and `tool_paths` are told from the tool, whatever `input` says. */
export function buildEnvelope(
  event: EventName,
  input: JsonObject,
  { cwd, provider: preferred = "claude" }: EnvelopePlace,
): Envelope {
  const { ours, subject, ...fired } = capabilityOf(event);
  const ofProvider = PROVIDERS.some((one) => fired[one].fires);
  const provider = providerOf(input, preferred);
  const context = { provider, sessionId: STOCK_ID, runId: STOCK_ID, cwd };
  const envelope: Envelope = {
    ...baseEnvelope(event, context),
    ...(ours === true || !ofProvider ? {} : { provider_session_id: STOCK_ID }),
    ...(subject === "tool_name" ? TOOL : {}),
    ...FIELDS[event],
    ...structuredClone(input),
    provider,
    hook_event_name: event,
  };
  // A host that owns its model and tool loop is no provider.
  if (!ofProvider) delete envelope.provider;
  if (subject !== "tool_name") return envelope;
  for (const derived of ["tool_kind", "tool_command", "tool_paths"]) delete envelope[derived];
  const { tool_name: name, tool_input: toolInput } = envelope;
  return Object.assign(
    envelope,
    describeTool(String(name), isJsonObject(toolInput) ? toolInput : {}, provider),
  );
}

/** A tool that only the other agent has is that agent's: `apply_patch` is never a call of claude. */
function providerOf({ provider, tool_name: tool }: JsonObject, preferred: Provider): Provider {
  const named = PROVIDERS.find((one) => one === provider);
  if (named !== undefined) return named;
  if (typeof tool !== "string" || toolKind(tool, preferred) !== "other") return preferred;
  return PROVIDERS.find((one) => toolKind(tool, one) !== "other") ?? preferred;
}
