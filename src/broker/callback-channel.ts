// Answers the hooks that the CLI asks over its own pipes. Must never leave a gate without an answer while the CLI listens, and never answer
// a request twice.

import type { JsonObject } from "../json.ts";
import { messageOf } from "../message-of.ts";
import type { EventName } from "../profile/events.ts";
import type { CallbackMessage, CallbackProtocol, EncodedVerdict } from "../render/provider.ts";
import {
  type Answering,
  type BrokerFaultKind,
  countCalls,
  decideInTime,
  fallbackAnswer,
} from "./decide-call.ts";

export interface CallbackChannelOptions extends Answering {
  readonly protocol: CallbackProtocol;
  /** Writes one line to the CLI; resolves when it was taken, rejects when the CLI is gone. */
  readonly send: (line: string) => Promise<void>;
  readonly onCanary: () => void;
}

export interface CallbackChannel {
  /** A message of the control channel; what is not about a callback is left alone. */
  take(payload: JsonObject): void;
  /** The start of a line that was too long to be read: when it was a callback, its call is stopped. */
  takeSkipped(start: string): void;
  /** Stops every pending call, then waits for their answers. */
  close(): Promise<void>;
  readonly pending: number;
}

interface OpenCall {
  readonly id: number;
  readonly requestId: string;
  readonly event: EventName;
  readonly abort: AbortController;
  /** The CLI said that it does not wait any more. */
  isCancelled: boolean;
}

/** Request ids that are known again; far more than are ever open at a time. */
const REMEMBERED = 4096;

export function createCallbackChannel({
  protocol,
  send,
  onCanary,
  ...answering
}: CallbackChannelOptions): CallbackChannel {
  const { isGate, onFault, onAsked = () => {}, onAnswered = () => {}, nextCallId = countCalls() } = answering;
  const registered = new Set<EventName>(answering.events);
  const open = new Map<string, OpenCall>();
  /** Oldest first. */
  const asked = new Map<string, OpenCall>();
  const running = new Set<Promise<void>>();
  let isClosing = false;

  const fault = (kind: BrokerFaultKind, detail: string, call?: OpenCall) =>
    onFault(call === undefined ? { kind, detail } : { kind, event: call.event, callId: call.id, detail });

  const remember = (call: OpenCall) => {
    asked.set(call.requestId, call);
    const [oldest] = asked.keys();
    if (asked.size > REMEMBERED && oldest !== undefined) asked.delete(oldest);
  };

  const track = (work: Promise<void>) => {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
  };

  /** For what is no call: an answer that the CLI was gone for is no fault, its end is told elsewhere. */
  const say = (requestId: string, answer: EncodedVerdict | { failed: string }) =>
    send(protocol.encode(requestId, answer)).catch(() => {});

  const reply = async (call: OpenCall, answer: EncodedVerdict) => {
    if (call.isCancelled) return;
    let line: string;
    let told = answer;
    try {
      line = protocol.encode(call.requestId, answer);
    } catch (error) {
      fault("reply_failed", messageOf(error), call);
      told = fallbackAnswer(isGate(call.event), "the answer could not be delivered");
      line = protocol.encode(call.requestId, told);
    }
    try {
      await send(line);
      onAnswered(call.event, call.id, told.code);
    } catch {
      fault("late", "the caller was gone before its answer", call);
    }
  };

  const serve = async (call: OpenCall, envelope: JsonObject | undefined) => {
    const { event, requestId } = call;
    if (envelope === undefined) {
      fault("envelope_unreadable", "its line was longer than the limit", call);
      await reply(call, fallbackAnswer(isGate(event), "the envelope was too long to be read"));
    } else await reply(call, await decideInTime(answering, call, envelope));
    open.delete(requestId);
  };

  const onCall = (requestId: string, event: EventName, envelope: JsonObject | undefined) => {
    if (asked.has(requestId)) {
      // One request has one answer.
      fault("request_invalid", `request ${requestId} was asked twice`);
      return;
    }
    if (!registered.has(event)) {
      fault("request_invalid", `event ${event} is not registered`);
      track(say(requestId, { failed: `bridle: ${event} is not an event of this run` }));
      return;
    }
    const call: OpenCall = {
      id: nextCallId(),
      requestId,
      event,
      abort: new AbortController(),
      isCancelled: false,
    };
    open.set(requestId, call);
    remember(call);
    onAsked(event, call.id);
    if (isClosing) call.abort.abort(new Error("the channel is closing"));
    track(serve(call, envelope));
  };

  const onCancelled = (requestId: string) => {
    const call = asked.get(requestId);
    if (call === undefined || call.isCancelled) return;
    call.isCancelled = true;
    // Also when the answer is on the way: it came too late.
    fault("late", "the caller gave up before its answer", call);
    call.abort.abort(new Error("the caller gave up"));
  };

  const heed = (message: CallbackMessage | undefined, isWhole: boolean) => {
    switch (message?.type) {
      case "asked":
        return onCall(message.requestId, message.event, isWhole ? message.envelope : undefined);
      case "canary":
        onCanary();
        return track(say(message.requestId, { code: 0, stdout: "", stderr: "" }));
      case "cancelled":
        return onCancelled(message.requestId);
      case "unknown":
        fault("request_invalid", message.detail);
        return track(say(message.requestId, { failed: `bridle: ${message.detail} is not of this run` }));
    }
  };

  return {
    take: (payload) => heed(protocol.read(payload), true),
    takeSkipped: (start) => heed(protocol.readStart(start), false),
    async close() {
      isClosing = true;
      for (const { abort } of open.values()) abort.abort(new Error("the channel is closing"));
      while (running.size > 0) await Promise.all(running);
    },
    get pending() {
      return open.size;
    },
  };
}
