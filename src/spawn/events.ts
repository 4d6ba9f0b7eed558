// The ordered events of a run and the one consumer they have.

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
  { type: "control" } | { type: "provider_hook" } | { type: "result" }
>;

export type AgentEventBody =
  | ShownStreamEvent
  | HookEvent
  | { readonly type: "result"; readonly result: RunResult };

/** `seq` counts from 0 without a gap (P4). */
export type AgentEvent = AgentEventBody & { readonly seq: number; readonly runId: string };

/** Events kept for an iterator that is not attached yet; later ones are discarded until it is. */
const BEFORE_ATTACH = 1024;
/** Above this many waiting events the provider's stdout is paused (P5). */
const HIGH_WATER = 4096;

export interface EventQueue extends AsyncIterable<AgentEvent> {
  push(body: AgentEventBody): void;
  end(): void;
}

export function createEventQueue(
  runId: string,
  { onFull, onDrained }: { onFull: () => void; onDrained: () => void },
): EventQueue {
  let seq = 0;
  let waiting: AgentEvent[] = [];
  let wake: (() => void) | undefined;
  let state: "unattached" | "attached" | "detached" = "unattached";
  let hasEnded = false;
  let isFull = false;

  async function* iterate(): AsyncGenerator<AgentEvent> {
    try {
      for (;;) {
        const batch = waiting;
        waiting = [];
        yield* batch;
        if (isFull && waiting.length === 0) {
          isFull = false;
          onDrained();
        }
        if (waiting.length > 0) continue;
        if (hasEnded) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      state = "detached";
      waiting = [];
      if (isFull) onDrained();
      isFull = false;
    }
  }

  return {
    push(body) {
      const event = { ...body, seq: seq++, runId } as AgentEvent;
      if (state === "detached" || (state === "unattached" && waiting.length >= BEFORE_ATTACH)) return;
      waiting.push(event);
      if (state === "attached" && waiting.length >= HIGH_WATER && !isFull) {
        isFull = true;
        onFull();
      }
      wake?.();
    },
    end() {
      hasEnded = true;
      wake?.();
    },
    [Symbol.asyncIterator]() {
      if (state !== "unattached") throw new Error("a run has one consumer; its events were already taken");
      state = "attached";
      return iterate();
    },
  };
}
