// What is known about each rendered event while a run lasts: asked, answered with which code, late, never; and whether the canary
// came. Counts and names calls; ends nothing by itself.

import type { HookPlan, Transport } from "../compiler/plan.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { CANARY_EVENT, capabilityOf, type EventName } from "../profile/events.ts";

export interface EventAttestation {
  readonly event: EventName;
  /** Our handler was in what the agent was given. */
  readonly rendered: true;
  readonly transport: Transport;
  /** The agent's own binary confirmed that the handler is live. */
  readonly preflighted: boolean;
  /** Calls that reached the broker. */
  readonly fired: number;
  /** Of them, those whose caller took the answer in time. */
  readonly answered: number;
  /** Of them, those whose caller was gone, or whose deadline had passed. */
  readonly late: number;
  /** Of them, those that got no answer at all. */
  readonly never: number;
}

export interface RunAttestation {
  /** `none`: the agent fires no event of this declaration, so there is nothing that could be missing. */
  readonly canary: "came" | "missing" | "none";
  /** In the order they were rendered. */
  readonly events: readonly EventAttestation[];
}

export interface Attestation {
  asked(event: EventName, callId: number): void;
  /** The call's envelope was read: from here the call has a name. */
  identified(event: EventName, callId: number, envelope: Envelope): void;
  /** The caller took the answer. The first `SessionStart` that gets so far is the canary: the whole way there and back is open. */
  answered(event: EventName, callId: number, code: 0 | 2): void;
  late(callId: number): void;
  /** A call of this event has reached the broker. */
  wasAsked(event: EventName): boolean;
  /** @param foreign events that hooks of others fire on as well: which end is whose cannot be told. */
  preflighted(foreign: readonly string[]): void;
  /** A call in words: event, tool and tool call id as far as they are known. */
  describe(callId: number): string;
  /**
   * Counts a hook's end as the agent saw it. Returns what is wrong when Bridle never gave that code so often (C-41): somebody
   * else answered, or nobody did.
   */
  checkEnd(event: EventName, code: number): string | undefined;
  /** A callback has come over the agent's own pipes: those that guard are asked as well. */
  callbackCame(): void;
  readonly isCanaryMissing: boolean;
  /** There are callbacks, and none has come, although one is asked before the model is. */
  readonly isCallbackMissing: boolean;
  /** Resolves when the canary has come; at once when none is needed. */
  readonly canary: Promise<void>;
  /** What is missing at the end of a run that went well otherwise: its canary, the prompt's gate, answers that gates were owed. */
  doubts(): string[];
  report(): RunAttestation;
}

interface Tally {
  fired: number;
  answered: number;
  late: number;
  readonly sent: { 0: number; 2: number };
  /** The last answers, oldest first. */
  readonly recent: { readonly name: string; readonly code: 0 | 2 }[];
  readonly seen: Map<number, number>;
}

/** How many answers of an event are remembered by name. */
const RECENT = 16;

export function createAttestation({
  events,
  transports,
}: Pick<HookPlan, "events" | "transports">): Attestation {
  const transportOf = (event: EventName): Transport => transports[event] ?? "shim";
  const tallies = new Map<EventName, Tally>(
    events.map((event) => [
      event,
      { fired: 0, answered: 0, late: 0, sent: { 0: 0, 2: 0 }, recent: [], seen: new Map() },
    ]),
  );
  /** Calls without an answer yet. */
  const open = new Map<
    number,
    { readonly event: EventName; name: string; isRead: boolean; isLate: boolean }
  >();
  const needsCanary = tallies.has(CANARY_EVENT);
  let isPreflighted = false;
  let shared: readonly string[] = [];
  let hasCanary = false;
  const needsCallback = events.some((event) => transportOf(event) === "callback");
  let hasCallback = false;
  let announce = () => {};
  const canary = needsCanary
    ? new Promise<void>((resolve) => {
        announce = resolve;
      })
    : Promise.resolve();

  const openCalls = (event: EventName) =>
    [...open.values()].filter((call) => call.event === event).map(({ name }) => name);

  return {
    canary,
    get isCanaryMissing() {
      return needsCanary && !hasCanary;
    },
    get isCallbackMissing() {
      return needsCallback && !hasCallback;
    },
    callbackCame() {
      hasCallback = true;
    },
    asked(event, callId) {
      const tally = tallies.get(event);
      if (tally === undefined) return;
      tally.fired += 1;
      open.set(callId, { event, name: `${event} call ${callId}`, isRead: false, isLate: false });
    },
    wasAsked: (event) => (tallies.get(event)?.fired ?? 0) > 0,
    identified(event, callId, { tool_name: tool, tool_use_id: id }) {
      const call = open.get(callId);
      if (call === undefined) return;
      call.isRead = true;
      if (typeof tool === "string")
        call.name = `${event} of ${tool}${typeof id === "string" ? `, tool call ${id}` : ""}`;
    },
    answered(event, callId, code) {
      const tally = tallies.get(event);
      if (tally === undefined) return;
      tally.sent[code] += 1;
      const call = open.get(callId);
      if (call?.isLate === false) tally.answered += 1;
      if (call !== undefined) tally.recent.push({ name: call.name, code });
      if (tally.recent.length > RECENT) tally.recent.shift();
      open.delete(callId);
      if (event !== CANARY_EVENT || call?.isRead !== true || call.isLate) return;
      hasCanary = true;
      announce();
    },
    late(callId) {
      const call = open.get(callId);
      const tally = call === undefined ? undefined : tallies.get(call.event);
      if (call === undefined || tally === undefined || call.isLate) return;
      call.isLate = true;
      tally.late += 1;
    },
    preflighted(foreign) {
      isPreflighted = true;
      shared = foreign;
    },
    describe: (callId) => open.get(callId)?.name ?? `call ${callId}`,
    checkEnd(event, code) {
      const tally = tallies.get(event);
      if (tally === undefined) return undefined;
      const seen = (tally.seen.get(code) ?? 0) + 1;
      tally.seen.set(code, seen);
      const sent = code === 0 || code === 2 ? tally.sent[code] : 0;
      // A hook of managed policy ends with 0 or 2 as well, and the line does not say whose it is (C-41).
      if (seen <= sent || (shared.includes(event) && (code === 0 || code === 2))) return undefined;
      const others = tally.recent.filter((answer) => answer.code !== code).map(({ name }) => name);
      const which = [
        ...listed("without an answer", openCalls(event)),
        ...listed("answered otherwise, last", others.slice(-1)),
      ].join("");
      return `the agent saw exit ${code} of a ${event} hook ${seen} times and Bridle gave it ${sent} times${which}`;
    },
    doubts() {
      const unanswered = [...open.values()]
        .filter(({ event, isLate }) => !isLate && capabilityOf(event).role === "gate")
        .map(({ name }) => `unanswered: ${name} got no answer`);
      const missing =
        needsCanary && !hasCanary
          ? [`canary: the agent's ${CANARY_EVENT} hook never had its answer from the broker`]
          : [];
      // Every run has a prompt. A command of claude's own, such as /compact, asks the model and not the gate (C-45).
      const unasked =
        tallies.get("UserPromptSubmit")?.fired === 0
          ? ["never_asked: UserPromptSubmit was not asked about the prompt"]
          : [];
      return [...missing, ...unasked, ...unanswered];
    },
    report: () =>
      Object.freeze({
        canary: needsCanary ? (hasCanary ? "came" : "missing") : "none",
        events: Object.freeze(
          [...tallies].map(([event, { fired, answered, late }]) =>
            Object.freeze({
              event,
              rendered: true as const,
              transport: transportOf(event),
              preflighted: isPreflighted,
              fired,
              answered,
              late,
              never: fired - answered - late,
            }),
          ),
        ),
      }),
  };
}

function listed(what: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`; ${what}: ${names.join(", ")}`];
}
