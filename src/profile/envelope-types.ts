// The envelope a hook receives. Shape and guarantees: docs/PROFILE.md. A field that is not known is omitted, never invented.

import type { Json, JsonObject } from "../json.ts";
import type { EventName, Provider } from "./events.ts";

/** Version of the wire contract (docs/PROFILE.md, Versions). */
export const PROFILE_VERSION = "v1";

export type ToolKind = "shell" | "read" | "edit" | "web" | "mcp" | "agent" | "other";

export interface Envelope extends JsonObject {
  session_id: string;
  cwd: string;
  hook_event_name: EventName;
  harness: "lionagi";
  profile: typeof PROFILE_VERSION;
  run_id: string;
}

/** What the run knows and the provider's envelope may not say. */
export interface EnvelopeContext {
  readonly provider: Provider;
  /** Ours, minted before `agent_prompt`. */
  readonly sessionId: string;
  readonly runId: string;
  readonly cwd: string;
  readonly model?: string;
  readonly permissionMode?: string;
}

export type { Json };
