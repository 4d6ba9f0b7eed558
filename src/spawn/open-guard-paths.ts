// Both ways by which the agent asks the hooks of one run: the broker behind its shim, and callbacks over its own pipes. Calls go to the hook
// runtime, faults of the guard path end the run.

import { type Broker, startBroker } from "../broker/broker.ts";
import { type CallbackChannel, createCallbackChannel } from "../broker/callback-channel.ts";
import type { Answering } from "../broker/decide-call.ts";
import type { Transport } from "../compiler/plan.ts";
import { capabilityOf } from "../profile/events.ts";
import type { ProviderChild } from "./child.ts";
import type { RunScope } from "./run-scope.ts";
import type { RunLayout } from "./set-up.ts";

export function openBroker(scope: RunScope, { runDirectory }: RunLayout): Promise<Broker> {
  return startBroker({ runDirectory, ...answering(scope, "shim") });
}

/** Undefined: no event of this run is asked that way. */
export function openCallbacks(scope: RunScope, child: ProviderChild): CallbackChannel | undefined {
  const { adapter, attestation } = scope;
  const { events, ...rest } = answering(scope, "callback");
  if (adapter.callbacks === undefined || events.length === 0) return undefined;
  return createCallbackChannel({
    ...rest,
    events,
    protocol: adapter.callbacks,
    onCanary: attestation.callbackCame,
    send: (line) =>
      new Promise((resolve, reject) => {
        child.stdin.write(`${line}\n`, (error) => (error == null ? resolve() : reject(error)));
      }),
  });
}

function answering(
  { plan, runtime, receipts, redactor, attestation, ender, nextCallId, lateCalls }: RunScope,
  transport: Transport,
): Answering {
  return {
    events: plan.events.filter((event) => plan.transports[event] === transport),
    nextCallId,
    answer: runtime.answer,
    deadlineMs: (event) => ((plan.deadlines[event]?.shimSeconds ?? 2) - 1) * 1000,
    isGate: (event) => capabilityOf(event).role === "gate",
    onAsked: attestation.asked,
    onAnswered: attestation.answered,
    onFault: ({ kind, event, callId, detail: said }) => {
      const detail = callId === undefined ? said : `${said} (${attestation.describe(callId)})`;
      receipts.write({
        kind: "fault",
        fault: kind,
        ...(event === undefined ? {} : { event }),
        detail: redactor.text(detail),
      });
      if (callId !== undefined && (kind === "late" || kind === "deadline")) {
        lateCalls.add(callId);
        runtime.counts.late = lateCalls.size;
        attestation.late(callId);
      }
      // An agent that was asked to stop gives up what it waits for. Nothing was admitted by that.
      if (kind === "late" && ender.isEnding()) return;
      const concernsGate = event === undefined || event === "Stop" || capabilityOf(event).role === "gate";
      if (concernsGate || kind === "tampered")
        ender.end({ kind: "unenforced", reason: `${kind}: ${redactor.text(detail)}` });
    },
  };
}
