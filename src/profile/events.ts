// The one capability table: which event exists, who fires it, whether it can block, what a verdict may carry.
// Everything that asks "may this event …" reads it here. Sources: docs/providers/claude.md §events, docs/providers/codex.md §events.

export type Provider = "claude" | "codex";
export const PROVIDERS: readonly Provider[] = ["claude", "codex"];

/**
 * - `gate`: waits for a verdict; a deny stops the action; failures deny (Dv1-5).
 * - `feedback`: waits; `decision: "block"` talks to the model (`Stop`: makes it go on). Failures are logged.
 * - `observe`: waits only if context may be returned; never blocks.
 */
export type EventRole = "gate" | "feedback" | "observe";
export type VerdictField = "deny" | "allow" | "rewrite" | "context" | "retry";

export interface ProviderEvent {
  /** The provider fires this event and this build renders it. */
  readonly fires: boolean;
  /** Hard cap the provider puts on this hook's time, in seconds; undefined when the timeout we render counts. */
  readonly capSeconds?: number;
}

export interface EventCapability {
  readonly role: EventRole;
  /** What a verdict may carry on this event; anything else is logged and ignored. */
  readonly accepts: readonly VerdictField[];
  /** The envelope field a matcher is tested against; undefined: a matcher refuses. */
  readonly subject?: "tool_name" | "source" | "reason" | "notification_type" | "agent_type" | "trigger";
  /** False: the provider is answered at once and the chain runs under its own deadline (docs/PROFILE.md, Who waits). */
  readonly awaited: boolean;
  /** The envelope field that a rewrite replaces whole. */
  readonly rewrites?: "tool_input" | "model_request";
  readonly ours?: boolean;
  readonly claude: ProviderEvent;
  readonly codex: ProviderEvent;
  /** A program that runs its own model and tool loop (docs/HOST.md) fires it. */
  readonly host: { readonly fires: boolean };
}

const yes = { fires: true } as const satisfies ProviderEvent;
const no = { fires: false } as const satisfies ProviderEvent;

export const EVENTS = {
  SessionStart: {
    role: "observe",
    accepts: ["context"],
    subject: "source",
    awaited: true,
    claude: yes,
    codex: yes,
    host: yes,
  },
  SessionEnd: {
    role: "observe",
    accepts: [],
    subject: "reason",
    awaited: false,
    claude: yes,
    codex: { fires: true, capSeconds: 3 },
    host: yes,
  },
  UserPromptSubmit: {
    role: "gate",
    accepts: ["deny", "context"],
    awaited: true,
    claude: yes,
    codex: yes,
    host: yes,
  },
  PreToolUse: {
    role: "gate",
    accepts: ["deny", "allow", "rewrite", "context"],
    rewrites: "tool_input",
    subject: "tool_name",
    awaited: true,
    claude: yes,
    codex: yes,
    host: yes,
  },
  PostToolUse: {
    role: "feedback",
    accepts: ["deny", "context"],
    subject: "tool_name",
    awaited: true,
    claude: yes,
    codex: yes,
    host: yes,
  },
  PostToolUseFailure: {
    role: "feedback",
    accepts: ["deny", "context"],
    subject: "tool_name",
    awaited: true,
    claude: yes,
    codex: no,
    host: yes,
  },
  // codex exec forces approval policy `never`, so its PermissionRequest hooks never fire (docs/providers/codex.md X-16).
  PermissionRequest: {
    role: "gate",
    accepts: ["deny", "allow"],
    subject: "tool_name",
    awaited: true,
    claude: yes,
    codex: no,
    host: yes,
  },
  Stop: { role: "feedback", accepts: ["deny"], awaited: true, claude: yes, codex: yes, host: yes },
  SubagentStart: {
    role: "observe",
    accepts: ["context"],
    subject: "agent_type",
    awaited: true,
    claude: yes,
    codex: yes,
    host: yes,
  },
  SubagentStop: {
    role: "feedback",
    accepts: ["deny"],
    subject: "agent_type",
    awaited: true,
    claude: yes,
    codex: yes,
    host: yes,
  },
  PreCompact: {
    role: "observe",
    accepts: [],
    subject: "trigger",
    awaited: false,
    claude: yes,
    codex: yes,
    host: yes,
  },
  PostCompact: {
    role: "observe",
    accepts: [],
    subject: "trigger",
    awaited: false,
    claude: yes,
    codex: yes,
    host: yes,
  },
  StopFailure: { role: "observe", accepts: [], awaited: false, claude: yes, codex: no, host: no },
  Notification: {
    role: "observe",
    accepts: [],
    subject: "notification_type",
    awaited: false,
    claude: yes,
    codex: no,
    host: yes,
  },
  Interrupt: {
    role: "observe",
    accepts: [],
    awaited: false,
    claude: no,
    codex: { fires: true, capSeconds: 3 },
    host: no,
  },
  agent_prompt: {
    role: "gate",
    accepts: ["deny", "context"],
    awaited: true,
    ours: true,
    claude: yes,
    codex: yes,
    host: no,
  },
  agent_exit: { role: "observe", accepts: [], awaited: true, ours: true, claude: yes, codex: yes, host: no },
  PreModelCall: {
    role: "gate",
    accepts: ["deny", "rewrite", "context"],
    rewrites: "model_request",
    awaited: true,
    claude: no,
    codex: no,
    host: yes,
  },
  PostModelCall: {
    role: "feedback",
    accepts: ["deny", "context"],
    awaited: true,
    claude: no,
    codex: no,
    host: yes,
  },
  ErrorOccurred: { role: "observe", accepts: ["retry"], awaited: true, claude: no, codex: no, host: yes },
} as const satisfies Record<string, EventCapability>;

/** Which events block is code: nobody changes it at run time. */
for (const capability of Object.values(EVENTS)) {
  Object.freeze(capability.accepts);
  Object.freeze(capability);
}
Object.freeze(EVENTS);

export type EventName = keyof typeof EVENTS;

/**
 * Rendered whenever the agent fires any event of a declaration: its call shows that the whole way to the broker is open. Both fire
 * it once a session, also a resumed one, before any tool can run (C-40, X-45).
 */
export const CANARY_EVENT: EventName = "SessionStart";

export const EVENT_NAMES = Object.keys(EVENTS) as EventName[];

/** Names a provider documents that this build has no seam for. Declaring one refuses as `event_unsupported`, not as unknown. */
export const SEAMLESS_EVENTS: readonly string[] = [
  "ConfigChange",
  "CwdChanged",
  "DirectoryAdded",
  "Elicitation",
  "ElicitationResult",
  "FileChanged",
  "InstructionsLoaded",
  "MessageDisplay",
  "PermissionDenied",
  "PostModelSwitch",
  "PostToolBatch",
  "PreModelSwitch",
  "PreSkillShellCommand",
  "Setup",
  "TaskCompleted",
  "TaskCreated",
  "TeammateIdle",
  "UserPromptExpansion",
  "WorktreeCreate",
  "WorktreeRemove",
  "preModelRequest",
];

export function capabilityOf(event: EventName): EventCapability {
  return EVENTS[event];
}

export function isEventName(name: string): name is EventName {
  return Object.hasOwn(EVENTS, name);
}
