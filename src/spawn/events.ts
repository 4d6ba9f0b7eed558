// What a run tells its consumer.

import type { EventName } from "../profile/events.ts";
import type { Verdict } from "../profile/verdict.ts";
import type { StreamEvent } from "../render/provider.ts";
import type { RunResult } from "./result.ts";

export interface HookEvent {
  readonly type: "hook";
  readonly event: EventName;
  readonly decision: Verdict["decision"];
  /** Redacted. Set on a deny. */
  readonly reason?: string;
  readonly toolName?: string;
  readonly matched: readonly string[];
  readonly durationMs: number;
}

/** Control answers and the provider's own hook lines are Bridle's business and are not shown. */
type ShownStreamEvent = Exclude<
  StreamEvent,
  { type: "control" } | { type: "turn_started" } | { type: "provider_hook" } | { type: "result" }
>;

/** A line of the agent's output was above `maxLineBytes` and is gone. */
export interface OverflowEvent {
  readonly type: "overflow";
  /** Its length without the newline. */
  readonly bytes: number;
  /** Of exactly those bytes, in hexadecimal. */
  readonly sha256: string;
}

/** Events that would have come here are gone: nobody took them in time. See docs/SPAWN.md for which those can be. */
export interface DroppedEvent {
  readonly type: "dropped";
  readonly count: number;
}

export type AgentEventBody =
  | ShownStreamEvent
  | HookEvent
  | OverflowEvent
  | { readonly type: "result"; readonly result: RunResult };

/** `seq` counts from 0 without a gap (P4). */
export type AgentEvent = (AgentEventBody | DroppedEvent) & { readonly seq: number; readonly runId: string };
