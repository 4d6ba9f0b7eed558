// Watches the stream for a turn that goes on although its UserPromptSubmit gate was never asked, or said no. Both providers wait for
// the gate before the model is asked anything, so the first sign of work tells.

import type { HookPlan } from "../compiler/plan.ts";
import type { ReceiptWriter } from "../receipts/writer.ts";
import type { Attestation } from "./attestation.ts";
import type { AgentEventBody } from "./events.ts";
import type { StopCause } from "./settle.ts";

const GATE = "UserPromptSubmit";

export interface PromptWatch {
  readonly plan: Pick<HookPlan, "events">;
  readonly attestation: Pick<Attestation, "wasAsked">;
  readonly runtime: { readonly isPromptDenied: boolean };
  readonly receipts: Pick<ReceiptWriter, "write">;
  readonly end: (cause: StopCause) => void;
}

/** Returns a listener to be called with every event before it is shown; it reports once. */
export function watchPrompt({
  plan,
  attestation,
  runtime,
  receipts,
  end,
}: PromptWatch): (event: AgentEventBody) => void {
  let isSettled = !plan.events.includes(GATE);
  return (event) => {
    if (isSettled || !showsModelWork(event)) return;
    // Only the first sign of work is judged: a later prompt may be denied while earlier work goes on.
    isSettled = true;
    const found = findFault(event.type);
    if (found === undefined) return;
    receipts.write({ kind: "fault", event: GATE, ...found });
    end({ kind: "unenforced", reason: `${found.fault}: ${found.detail}` });
  };

  function findFault(sign: string): { fault: string; detail: string } | undefined {
    if (!attestation.wasAsked(GATE))
      return { fault: "never_asked", detail: `${GATE} was not asked, and the agent works (${sign})` };
    if (runtime.isPromptDenied)
      return { fault: "deny_ignored", detail: `${GATE} denied the prompt, and the agent works (${sign})` };
    return undefined;
  }
}

function showsModelWork(event: AgentEventBody): boolean {
  switch (event.type) {
    case "message":
    case "thinking":
    case "tool_call":
    case "tool_result":
      return true;
    case "usage":
      return (event.inputTokens ?? 0) > 0 || (event.outputTokens ?? 0) > 0;
    default:
      return false;
  }
}
