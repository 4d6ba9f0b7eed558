// The envelope guarantees as zod schemas, one per event: what docs/PROFILE.md promises and the tests hold us to.
// Loose objects: fields the provider sent that the profile does not name pass through unchanged.

import type { z } from "zod";
import { lateSchema } from "../packages.ts";
import { type Envelope, type EnvelopeContext, PROFILE_VERSION } from "./envelope-types.ts";
import { EVENT_NAMES, type EventName } from "./events.ts";

const schemas = lateSchema((z) => {
  const text = z.string().min(1);
  const json = z.json();
  const toolInput = z.record(z.string(), json);

  const always = {
    session_id: text,
    cwd: text,
    harness: z.literal("lionagi"),
    profile: z.literal(PROFILE_VERSION),
    run_id: text,
  };
  const fromProvider = { provider: z.enum(["claude", "codex"]), provider_session_id: text };
  const tool = {
    tool_name: text,
    tool_input: toolInput,
    tool_kind: z.enum(["shell", "read", "edit", "web", "mcp", "agent", "other"]),
  };

  function schemaFor<Name extends EventName, Shape extends z.core.$ZodLooseShape>(event: Name, shape: Shape) {
    return z.looseObject({ ...always, hook_event_name: z.literal(event), ...shape });
  }

  const optionalText = z.string().optional();

  return {
    SessionStart: schemaFor("SessionStart", { ...fromProvider, source: optionalText }),
    SessionEnd: schemaFor("SessionEnd", { ...fromProvider, reason: optionalText }),
    UserPromptSubmit: schemaFor("UserPromptSubmit", {
      ...fromProvider,
      prompt: z.string(),
      permission_mode: text,
      model: optionalText,
    }),
    PreToolUse: schemaFor("PreToolUse", { ...fromProvider, ...tool }),
    PostToolUse: schemaFor("PostToolUse", { ...fromProvider, ...tool, tool_response: json }),
    PostToolUseFailure: schemaFor("PostToolUseFailure", {
      ...fromProvider,
      ...tool,
      tool_response: z.looseObject({ error: z.string() }),
    }),
    PermissionRequest: schemaFor("PermissionRequest", { ...fromProvider, ...tool }),
    Stop: schemaFor("Stop", fromProvider),
    SubagentStart: schemaFor("SubagentStart", fromProvider),
    SubagentStop: schemaFor("SubagentStop", fromProvider),
    PreCompact: schemaFor("PreCompact", fromProvider),
    PostCompact: schemaFor("PostCompact", fromProvider),
    StopFailure: schemaFor("StopFailure", fromProvider),
    Notification: schemaFor("Notification", fromProvider),
    Interrupt: schemaFor("Interrupt", fromProvider),
    PreModelCall: schemaFor("PreModelCall", { model_request: json, attempt: z.number().int().positive() }),
    PostModelCall: schemaFor("PostModelCall", { model_response: json, attempt: z.number().int().positive() }),
    ErrorOccurred: schemaFor("ErrorOccurred", {
      error: z.looseObject({ name: z.string(), message: z.string() }),
      attempt: z.number().int().positive(),
    }),
    agent_prompt: schemaFor("agent_prompt", {
      provider: fromProvider.provider,
      prompt: z.string(),
      model: optionalText,
      permission_mode: text,
    }),
    agent_exit: schemaFor("agent_exit", {
      provider: fromProvider.provider,
      outcome: text,
      reason: z.string(),
      exit_code: z.number().nullable(),
      signal: z.string().nullable(),
      duration_ms: z.number().nonnegative(),
      extinction: z.looseObject({ state: z.enum(["proven", "swept", "unproven"]) }),
      hooks: z.looseObject({}),
      recovered: z.boolean().optional(),
    }),
  } satisfies Record<EventName, z.ZodType>;
});

/** Built when first read. */
export const ENVELOPE_SCHEMAS: ReturnType<typeof schemas> = Object.defineProperties(
  {} as ReturnType<typeof schemas>,
  Object.fromEntries(EVENT_NAMES.map((name) => [name, { enumerable: true, get: () => schemas()[name] }])),
);

/** The fields every envelope carries; `provider_session_id` is added when the provider's own id is known. */
export function baseEnvelope(event: EventName, context: EnvelopeContext): Envelope {
  return {
    session_id: context.sessionId,
    cwd: context.cwd,
    hook_event_name: event,
    harness: "lionagi",
    profile: PROFILE_VERSION,
    run_id: context.runId,
    provider: context.provider,
  };
}
