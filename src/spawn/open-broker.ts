// The broker of one run: calls go to the hook runtime, faults of the guard path end the run.

import { type Broker, startBroker } from "../broker/broker.ts";
import { capabilityOf } from "../profile/events.ts";
import type { RunScope } from "./run-scope.ts";
import type { RunLayout } from "./set-up.ts";

export function openBroker(
  { plan, runtime, receipts, redactor, attestation, ender }: RunScope,
  { runDirectory }: RunLayout,
): Promise<Broker> {
  return startBroker({
    runDirectory,
    events: plan.events,
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
      if (kind === "late") runtime.counts.late += 1;
      if (callId !== undefined && (kind === "late" || kind === "deadline")) attestation.late(callId);
      const concernsGate = event === undefined || event === "Stop" || capabilityOf(event).role === "gate";
      if (concernsGate) ender.end({ kind: "unenforced", reason: `${kind}: ${redactor.text(detail)}` });
    },
  });
}
