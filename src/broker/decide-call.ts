// Decides one call within its deadline, whichever way it came. Must never leave a gate without an explicit deny when deciding fails, is
// late, or is abandoned.

import type { JsonObject } from "../json.ts";
import { messageOf } from "../message-of.ts";
import type { EventName } from "../profile/events.ts";
import type { BrokerAnswer } from "./reply.ts";

export type BrokerFaultKind =
  /** The caller was gone, or gave up, before the answer. */
  | "late"
  /** `answer` did not settle within `deadlineMs`. */
  | "deadline"
  | "answer_failed"
  | "request_invalid"
  | "envelope_unreadable"
  | "reply_failed"
  | "tampered"
  /** The request FIFO cannot be read any more. */
  | "queue_lost";

export interface BrokerFault {
  readonly kind: BrokerFaultKind;
  readonly event?: EventName;
  /** The call it concerns, where there is one. */
  readonly callId?: number;
  /** May quote what a caller sent; must be redacted before it is shown. */
  readonly detail: string;
}

export interface BrokerCall {
  /** Of this run; counts from 1. */
  readonly callId: number;
  /** Aborted when nobody waits for the answer any more: deadline, caller gone, broker closed. */
  readonly signal: AbortSignal;
}

/** What answers calls, whichever way they come. */
export interface Answering {
  /** Registered events; a request for another one is denied. */
  readonly events: readonly EventName[];
  /** An envelope that came as JSON text is not parsed before. */
  readonly answer: (
    event: EventName,
    envelope: string | JsonObject,
    call: BrokerCall,
  ) => Promise<BrokerAnswer>;
  /** Our own deadline; must be below the one of who asks. */
  readonly deadlineMs: (event: EventName) => number;
  readonly isGate: (event: EventName) => boolean;
  readonly onFault: (fault: BrokerFault) => void;
  /** Somebody asked, before anything about it was looked at. */
  readonly onAsked?: (event: EventName, callId: number) => void;
  /** The answer was handed over to who had asked; `code` is what it was told. */
  readonly onAnswered?: (event: EventName, callId: number, code: 0 | 2) => void;
  /** One for all ways into a run, so that ids are its own. @default a count from 1 */
  readonly nextCallId?: () => number;
}

export interface CallToDecide {
  readonly id: number;
  readonly event: EventName;
  readonly abort: AbortController;
}

const EMPTY: BrokerAnswer = { code: 0, stdout: "", stderr: "" };

export function countCalls(): () => number {
  let calls = 0;
  return () => ++calls;
}

/** The answer when there is none: an explicit deny on gates; elsewhere silence, because a block would mean "go on". */
export function fallbackAnswer(isGate: boolean, reason: string): BrokerAnswer {
  return isGate ? { code: 2, stdout: "", stderr: `bridle: ${reason}; denied` } : EMPTY;
}

/** Never rejects. */
export async function decideInTime(
  { answer, deadlineMs, isGate, onFault }: Answering,
  { id: callId, event, abort }: CallToDecide,
  envelope: string | JsonObject,
): Promise<BrokerAnswer> {
  const limitMs = deadlineMs(event);
  const startedAt = performance.now();
  const fallback = (reason: string) => fallbackAnswer(isGate(event), reason);
  let stop: (answer: BrokerAnswer) => void = () => {};
  const stopped = new Promise<BrokerAnswer>((resolve) => {
    stop = resolve;
  });
  const expire = () => {
    onFault({ kind: "deadline", event, callId, detail: `no verdict within ${limitMs} ms` });
    stop(fallback(`no verdict within ${limitMs} ms`));
    abort.abort(new Error("the call's deadline has passed"));
  };
  const timer = setTimeout(expire, limitMs);
  const onAbort = () => stop(fallback("the supervisor is closing"));
  if (abort.signal.aborted) onAbort();
  abort.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const given = await Promise.race([stopped, answer(event, envelope, { callId, signal: abort.signal })]);
    // This process may have been stopped in between: then its timers are late, and an answer may be there before them.
    if (performance.now() - startedAt > limitMs && !abort.signal.aborted) expire();
    return abort.signal.aborted ? await stopped : checkAnswer(given);
  } catch (error) {
    onFault({ kind: "answer_failed", event, callId, detail: messageOf(error) });
    return fallback("the supervisor failed while deciding");
  } finally {
    clearTimeout(timer);
    abort.signal.removeEventListener("abort", onAbort);
  }
}

function checkAnswer(given: BrokerAnswer): BrokerAnswer {
  const { code, stdout, stderr } = given ?? {};
  if ((code === 0 || code === 2) && typeof stdout === "string" && typeof stderr === "string") return given;
  throw new TypeError("the answer has no code 0 or 2 with texts");
}
