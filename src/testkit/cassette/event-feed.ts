// Hands events on to one consumer as they are, numbers included. As a run's own: kept for a consumer that is not there yet, gone
// once it has left, a second consumer throws.

import type { AgentEvent } from "../../spawn/events.ts";

export interface EventFeed extends AsyncIterable<AgentEvent> {
  push(event: AgentEvent): void;
  end(): void;
  /** Resolves when fewer than `limit` events wait. At once while no consumer is there, and when it has left. */
  hasRoom(limit: number): Promise<void>;
  /** Resolves when the consumer asks for more than there is. At once while no consumer is there, and when it has left. */
  isAskedForMore(): Promise<void>;
}

/** @param keep events kept for a consumer that is not attached yet. Default: all. */
export function createEventFeed({ keep = Number.POSITIVE_INFINITY }: { keep?: number } = {}): EventFeed {
  let waiting: AgentEvent[] = [];
  let state: "unattached" | "attached" | "detached" = "unattached";
  let hasEnded = false;
  let wakeConsumer = () => {};
  let wakeSource = () => {};
  let isAsking = false;

  const sourceWakes = () =>
    new Promise<void>((resolve) => {
      wakeSource = resolve;
    });

  async function* iterate(): AsyncGenerator<AgentEvent> {
    try {
      for (;;) {
        const event = waiting.shift();
        if (event !== undefined) {
          wakeSource();
          yield event;
        } else if (hasEnded) return;
        else {
          isAsking = true;
          wakeSource();
          await new Promise<void>((resolve) => {
            wakeConsumer = resolve;
          });
          isAsking = false;
        }
      }
    } finally {
      state = "detached";
      waiting = [];
      wakeSource();
    }
  }

  return {
    push(event) {
      if (state === "detached" || (state === "unattached" && waiting.length >= keep)) return;
      waiting.push(event);
      wakeConsumer();
    },
    end() {
      hasEnded = true;
      wakeConsumer();
    },
    async hasRoom(limit) {
      while (state === "attached" && waiting.length >= limit) await sourceWakes();
    },
    async isAskedForMore() {
      while (state === "attached" && !(isAsking && waiting.length === 0)) await sourceWakes();
    },
    [Symbol.asyncIterator]() {
      if (state !== "unattached") throw new Error("a run has one consumer; its events were already taken");
      state = "attached";
      return iterate();
    },
  };
}
