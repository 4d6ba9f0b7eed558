// What claude itself says about our handlers (`--include-hook-events`): a hook without a verdict, or one that ended with a code that
// Bridle did not give. Either means that the guard path was cut or answered by somebody else, and the run must end.

import { capabilityOf, isEventName } from "../profile/events.ts";
import type { ReceiptWriter } from "../receipts/writer.ts";
import type { StreamEvent } from "../render/provider.ts";
import type { Attestation } from "./attestation.ts";
import type { StopCause } from "./settle.ts";

export type ProviderHookEvent = Extract<StreamEvent, { type: "provider_hook" }>;

export interface ProviderHookWatch {
  readonly attestation: Pick<Attestation, "checkEnd">;
  readonly receipts: Pick<ReceiptWriter, "write">;
  readonly end: (cause: StopCause) => void;
  /** The agent was asked to stop: hooks that it waits for are ended by it, which stops their calls (C-5). */
  readonly isEnding: () => boolean;
}

export function watchProviderHooks({
  attestation,
  receipts,
  end,
  isEnding,
}: ProviderHookWatch): (event: ProviderHookEvent) => void {
  return (event) => {
    const found = findFault(event, attestation);
    if (found === undefined) return;
    receipts.write({ kind: "fault", event: event.event, ...found });
    if (found.fault === "bad_exit" && isEnding()) return;
    end({ kind: "unenforced", reason: `${found.fault}: ${found.detail}` });
  };
}

function findFault(
  { event, exitCode, noVerdict, toolUseId, evidence }: ProviderHookEvent,
  { checkEnd }: Pick<Attestation, "checkEnd">,
): { fault: string; detail: string } | undefined {
  const name = isEventName(event) ? event : undefined;
  // An event that is not of this build's profile is not one of ours.
  const role = name === undefined ? "observe" : capabilityOf(name).role;
  if (name === undefined || role === "observe") return undefined;
  if (noVerdict === true) {
    const call = toolUseId === undefined ? "" : ` for tool call ${toolUseId}`;
    return {
      fault: "no_verdict",
      detail: `the provider reports a ${name} hook without a verdict${call} (${evidence ?? "no evidence"})`,
    };
  }
  if (exitCode === undefined) return undefined;
  if (exitCode !== 0 && exitCode !== 2)
    return {
      fault: "bad_exit",
      detail: checkEnd(name, exitCode) ?? `the provider reports exit ${exitCode} of a ${name} hook`,
    };
  // Other feedback only talks to the model: its handler answers 0 whatever happens, and a lost one is counted, not fatal.
  if (role !== "gate" && name !== "Stop") return undefined;
  const detail = checkEnd(name, exitCode);
  return detail === undefined ? undefined : { fault: "unanswered", detail };
}
