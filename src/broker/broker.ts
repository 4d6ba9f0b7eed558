// Reads what shims ask on the run's request FIFO and answers each within its deadline. Must never leave a gate without an
// explicit deny when answering fails, is late, or the broker closes.

import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../message-of.ts";
import type { EventName } from "../profile/events.ts";
import {
  type Answering,
  type BrokerFaultKind,
  countCalls,
  decideInTime,
  fallbackAnswer,
} from "./decide-call.ts";
import { type BrokerAnswer, emptyIfAbandoned, hasCode, isInline, sendReply } from "./reply.ts";
import { parseRequest, type Request } from "./request-line.ts";
import { openRequestQueue, readEnvelope } from "./request-queue.ts";
import type { RunDirectory } from "./run-directory.ts";
import { SHIM_LAYOUT } from "./shim.ts";
import { createLineReader } from "./short-lines.ts";

export interface BrokerOptions extends Answering {
  readonly runDirectory: RunDirectory;
}

export interface BrokerCounts {
  readonly requests: number;
  /** Replies a shim took. */
  readonly answered: number;
  readonly faults: number;
}

export interface Broker {
  /** Answers every pending call with a deny (gates) or an empty exit 0, then stops reading. Does not remove the run directory. */
  close(): Promise<void>;
  readonly pending: number;
  readonly counts: BrokerCounts;
}

interface OpenCall {
  readonly id: number;
  readonly slot: string;
  readonly pid: number;
  readonly event: EventName;
  readonly abort: AbortController;
  /** The reply was written; the slot is free after the shim's `D`. */
  answered: boolean;
  /** The shim said `D` before it was answered. */
  gaveUp: boolean;
  /** Its answer went, or was to go, through body files. */
  hasBodies: boolean;
}

export async function startBroker({ runDirectory, ...answering }: BrokerOptions): Promise<Broker> {
  const { events, isGate, onAsked = () => {}, onAnswered = () => {}, nextCallId = countCalls() } = answering;
  const registered = new Set<string>(events);
  const calls = new Map<string, OpenCall>();
  const running = new Set<Promise<void>>();
  const counts = { requests: 0, answered: 0, faults: 0 };
  const onFault: Answering["onFault"] = (found) => {
    counts.faults += 1;
    answering.onFault(found);
  };
  let closing = false;

  const pathOf = (folder: "replies" | "envelopes" | "bodies", slot: string) =>
    join(runDirectory.path, SHIM_LAYOUT[folder], slot);

  function fault(kind: BrokerFaultKind, detail: string, call?: Pick<OpenCall, "event" | "id">): void {
    onFault(call === undefined ? { kind, detail } : { kind, event: call.event, callId: call.id, detail });
  }

  const fallback = (event: EventName, reason: string) => fallbackAnswer(isGate(event), reason);

  function release(call: OpenCall): void {
    if (calls.get(call.slot) !== call) return;
    calls.delete(call.slot);
    const work = removeFiles(call).finally(() => running.delete(work));
    running.add(work);
  }

  /** A disk may let a removal wait until it has written for others; the event loop does not. */
  async function removeFiles(call: OpenCall): Promise<void> {
    const own = call.slot.startsWith("x") ? [pathOf("replies", call.slot)] : [];
    const body = pathOf("bodies", call.slot);
    const bodies = call.hasBodies ? [`${body}.err`, `${body}.out`] : [];
    // The claim goes last: once it is gone the next shim may take the slot.
    for (const path of [...bodies, ...own, pathOf("envelopes", call.slot)]) {
      await unlink(path).catch((error: unknown) => {
        if (!hasCode(error, "ENOENT")) fault("tampered", `cannot remove ${path}: ${String(error)}`, call);
      });
    }
  }

  async function decide(call: OpenCall): Promise<BrokerAnswer> {
    const { event, slot } = call;
    if (!registered.has(event)) {
      fault("request_invalid", `event ${event} is not registered`);
      return { code: 2, stdout: "", stderr: `bridle: ${event} is not an event of this run; denied` };
    }
    const changed = runDirectory.changedQuickly(slot.startsWith("x") ? undefined : slot);
    if (changed.length > 0) {
      fault("tampered", changed.join("; "), call);
      return fallback(event, "the run directory was changed");
    }
    let raw: string;
    try {
      raw = await readEnvelope(pathOf("envelopes", slot));
    } catch (error) {
      fault("envelope_unreadable", String(error), call);
      return fallback(event, "the envelope could not be read");
    }
    return decideInTime({ ...answering, onFault }, call, raw);
  }

  async function reply(call: OpenCall, given: BrokerAnswer): Promise<void> {
    const target = {
      fifo: pathOf("replies", call.slot),
      bodyBase: pathOf("bodies", call.slot),
      pid: call.pid,
    };
    // Set first: the shim's `D` can arrive before the write returns to us.
    call.answered = true;
    let result: "sent" | "gone";
    let answer = given;
    try {
      call.hasBodies = !isInline(given);
      result = await sendReply({ ...target, answer: given });
    } catch (error) {
      fault("reply_failed", messageOf(error), call);
      answer = fallback(call.event, "the answer could not be delivered");
      try {
        result = await sendReply({ ...target, answer });
      } catch (second) {
        fault("reply_failed", `nor the fallback: ${String(second)}`, call);
        const changed = runDirectory.changedQuickly(call.slot.startsWith("x") ? undefined : call.slot);
        if (changed.length > 0) fault("tampered", changed.join("; "), call);
        return; // the shim's own deadline decides; its `D` frees the slot
      }
    }
    if (result === "sent") {
      counts.answered += 1;
      onAnswered(call.event, call.id, answer.code);
      return;
    }
    fault("late", "the caller was gone before its answer", call);
    release(call);
  }

  async function serve(call: OpenCall): Promise<void> {
    let given: BrokerAnswer;
    try {
      given = await decide(call);
    } catch (error) {
      fault("answer_failed", messageOf(error), call);
      given = { code: 2, stdout: "", stderr: "bridle: the supervisor failed while deciding; denied" };
    }
    if (!call.gaveUp) await reply(call, given);
  }

  function onCall({ slot, pid, event }: Extract<Request, { kind: "call" }>): void {
    if (calls.has(slot)) {
      fault("request_invalid", `slot ${slot} is in use`);
      return;
    }
    if (slot.startsWith("x")) reclaimAbandoned();
    counts.requests += 1;
    const abort = new AbortController();
    const call: OpenCall = {
      id: nextCallId(),
      slot,
      pid,
      event,
      abort,
      answered: false,
      gaveUp: false,
      hasBodies: false,
    };
    calls.set(slot, call);
    onAsked(event, call.id);
    if (closing) call.abort.abort(new Error("the broker is closing"));
    const work = serve(call).finally(() => running.delete(work));
    running.add(work);
  }

  function onDone({ slot, pid }: Extract<Request, { kind: "done" }>): void {
    const call = calls.get(slot);
    // A `D` that is not the slot's own is late (freed by ENXIO before) or forged: it must not free another's claim.
    if (call === undefined || call.pid !== pid) return;
    if (!call.answered) {
      call.gaveUp = true;
      fault("late", "the caller gave up before its answer", call);
      call.abort.abort(new Error("the caller gave up"));
    }
    release(call);
  }

  /** A shim killed between its answer and its `D` would keep its slot for ever; looked for when slots have run out. */
  function reclaimAbandoned(): void {
    for (const call of [...calls.values()]) {
      if (!call.answered) continue;
      try {
        if (emptyIfAbandoned(pathOf("replies", call.slot))) release(call);
      } catch (error) {
        fault("tampered", `reply FIFO ${call.slot}: ${String(error)}`, call);
      }
    }
  }

  const queue = openRequestQueue(runDirectory);
  const readLine = createLineReader((line) => {
    const request = line === undefined ? undefined : parseRequest(line);
    if (request === undefined)
      fault("request_invalid", line === undefined ? "over-long line" : JSON.stringify(line));
    else if (request.kind === "call") onCall(request);
    else onDone(request);
  });
  queue.on("data", readLine);
  queue.on("error", (error) => fault("queue_lost", error.message));
  queue.on("close", () => {
    if (!closing) fault("queue_lost", "the request FIFO was closed");
  });

  return {
    async close() {
      closing = true;
      for (const call of calls.values()) {
        if (!call.answered) call.abort.abort(new Error("the broker is closing"));
      }
      while (running.size > 0) await Promise.all(running);
      if (queue.destroyed) return;
      await new Promise<void>((resolve) => {
        queue.once("close", () => resolve());
        queue.destroy();
      });
    },
    get pending() {
      return [...calls.values()].filter((call) => !call.answered).length;
    },
    get counts() {
      return { ...counts };
    },
  };
}
