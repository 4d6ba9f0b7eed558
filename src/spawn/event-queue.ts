// Between a run and its one consumer: order, numbers, and a bound on what waits. The pipe is held back first (P5); what still comes is
// dropped, and told where it would have been. Numbers are given on the way out, so that they have no gap whatever was dropped (P4).

import { setImmediate as nextTurn } from "node:timers/promises";
import type { AgentEvent, AgentEventBody, DroppedEvent } from "./events.ts";
import { LINE_CAP_BYTES } from "./frame.ts";
import { weigh } from "./weigh.ts";

/** Reached when either is. */
export interface Level {
  readonly events: number;
  /** As `weigh` counts them. */
  readonly bytes: number;
}

export interface QueueLimits {
  /** Kept for a consumer that is not attached yet; what comes later is dropped until it is. */
  readonly beforeAttach: Level;
  /** The agent's output is paused, until half of it is left. */
  readonly pause: Level;
  /** Diagnostics are dropped. Above `pause`: only what a chunk already read still held can get here. */
  readonly diagnostics: Level;
  /**
   * Everything but the result is dropped. Reached only by what no pause can hold back: hooks that fire while the consumer sleeps, what is
   * read after the agent's exit, and a single line of very many parts.
   */
  readonly everything: Level;
}

const MIB = 1024 * 1024;

/** Delivered before the event loop has its turn: a loop over them alone would keep timers and signals from this process. */
const EVENTS_PER_TURN = 64;

/** A longest line weighs about twice its bytes: beside it there must be room for what came with it, else a consumer that keeps up loses that. */
export function queueLimits(maxLineBytes: number = LINE_CAP_BYTES): QueueLimits {
  const lineBytes = Math.max(16 * MIB, maxLineBytes);
  return {
    beforeAttach: { events: 1024, bytes: 16 * MIB },
    pause: { events: 4096, bytes: 16 * MIB },
    diagnostics: { events: 8192, bytes: 3 * lineBytes },
    everything: { events: Number.POSITIVE_INFINITY, bytes: 4 * lineBytes },
  };
}

/** What a consumer can do without: it says nothing that the agent did, and an agent can print it without end. */
const DIAGNOSTICS: readonly AgentEventBody["type"][] = ["warning", "raw", "unparsed"];

export interface EventQueue extends AsyncIterable<AgentEvent> {
  push(body: AgentEventBody): void;
  /** More may be read although the consumer is slow: what waits is below the level at which diagnostics are dropped. */
  readonly hasRoom: boolean;
  /** The events that wait are still delivered; one pushed later is not. */
  end(): void;
}

interface Waiting {
  readonly body: AgentEventBody | { -readonly [Field in keyof DroppedEvent]: DroppedEvent[Field] };
  readonly bytes: number;
}

export function createEventQueue(
  runId: string,
  { onFull, onDrained }: { onFull: () => void; onDrained: () => void },
  limits: QueueLimits = queueLimits(),
  isWanted: (type: AgentEventBody["type"]) => boolean = () => true,
): EventQueue {
  const resume = { events: limits.pause.events / 2, bytes: limits.pause.bytes / 2 };
  let seq = 0;
  let waiting: (Waiting | undefined)[] = [];
  let head = 0;
  let bytes = 0;
  /** Of the consumer that waits. */
  let wake: (() => void) | undefined;
  let state: "unattached" | "attached" | "detached" = "unattached";
  let hasEnded = false;
  let isFull = false;

  const isReached = (level: Level) => waiting.length - head >= level.events || bytes >= level.bytes;

  const isRefused = ({ type }: AgentEventBody): boolean => {
    if (type === "result") return false;
    if (state === "unattached") return isReached(limits.beforeAttach);
    return isReached(limits.everything) || (DIAGNOSTICS.includes(type) && isReached(limits.diagnostics));
  };

  const add = (body: Waiting["body"]) => {
    const entry = { body, bytes: body.type === "result" ? 0 : weigh(body) };
    waiting.push(entry);
    bytes += entry.bytes;
  };

  const drop = () => {
    const last = waiting.length > head ? waiting.at(-1)?.body : undefined;
    if (last?.type === "dropped") last.count += 1;
    else add({ type: "dropped", count: 1 });
  };

  const take = (): AgentEvent | undefined => {
    const entry = waiting[head];
    if (entry === undefined) return undefined;
    waiting[head++] = undefined;
    bytes -= entry.bytes;
    if (head > limits.beforeAttach.events && head * 2 >= waiting.length) {
      waiting = waiting.slice(head);
      head = 0;
    }
    if (isFull && !isReached(resume)) {
      isFull = false;
      onDrained();
    }
    // Not `{ ...body, seq }`: properties added behind a spread cost four times as much here.
    return Object.assign({ seq: seq++, runId }, entry.body);
  };

  const detach = () => {
    state = "detached";
    waiting = [];
    head = 0;
    bytes = 0;
    if (isFull) onDrained();
    isFull = false;
    wake?.();
  };

  let sinceTurn = 0;
  /** The last call of `next` that had to wait: those behind it are served after it. */
  let lastWait: Promise<unknown> | undefined;

  const waitForNext = async (): Promise<IteratorResult<AgentEvent, undefined>> => {
    if (sinceTurn >= EVENTS_PER_TURN) {
      await nextTurn();
      sinceTurn = 0;
    }
    for (;;) {
      const event = take();
      if (event !== undefined) {
        sinceTurn += 1;
        return { done: false, value: event };
      }
      if (hasEnded || state === "detached") {
        detach();
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      wake = undefined;
    }
  };

  /** Not an async generator: that takes more time than all the rest of an event's way. */
  const next = (): Promise<IteratorResult<AgentEvent, undefined>> => {
    if (lastWait === undefined && sinceTurn < EVENTS_PER_TURN) {
      const event = take();
      if (event !== undefined) {
        sinceTurn += 1;
        return Promise.resolve({ done: false, value: event });
      }
    }
    const waited = lastWait === undefined ? waitForNext() : lastWait.then(waitForNext);
    lastWait = waited;
    void waited.then(() => {
      if (lastWait === waited) lastWait = undefined;
    });
    return waited;
  };

  return {
    push(body) {
      if (hasEnded || state === "detached" || !isWanted(body.type)) return;
      if (isRefused(body)) drop();
      else add(body);
      if (!isFull && state === "attached" && isReached(limits.pause)) {
        isFull = true;
        onFull();
      }
      wake?.();
    },
    get hasRoom() {
      return bytes < limits.diagnostics.bytes;
    },
    end() {
      hasEnded = true;
      wake?.();
    },
    [Symbol.asyncIterator]() {
      if (state !== "unattached") throw new Error("a run has one consumer; its events were already taken");
      state = "attached";
      return {
        next,
        return: () => {
          detach();
          return Promise.resolve({ done: true, value: undefined });
        },
      };
    },
  };
}
