// Watches the stream for a tool that ran past its guard. An overwritten shim, a killed hook shell or a provider that skipped a hook
// asks nobody; what shows it is a tool that ran without an admitting PreToolUse verdict. What follows it must not run.

import type { HookPlan } from "../compiler/plan.ts";
import type { Json } from "../json.ts";
import { CANARY_EVENT } from "../profile/events.ts";
import type { ReceiptWriter } from "../receipts/writer.ts";
import type { Attestation } from "./attestation.ts";
import type { CallLedger } from "./call-ledger.ts";
import type { AgentEventBody } from "./events.ts";
import type { StopCause } from "./settle.ts";

/** codex items that stand for work a PreToolUse guard is asked about; their ids are not call ids, so they are counted. */
const WORKING_ITEMS: readonly string[] = ["command_execution", "file_change", "mcp_tool_call"];

/** Longest summary of a call's input, in UTF-16 units. */
const SUMMARY_MAX = 160;

/** Events by which the agent shows that its turn is under way: by then the canary must have come. */
const SHOWS_WORK: readonly string[] = ["tool_call", "tool_result", "message", "thinking"];

export interface ToolWatch {
  readonly plan: HookPlan;
  readonly ledger: Pick<CallLedger, "isAdmitted" | "working" | "end">;
  readonly attestation: Pick<Attestation, "isCanaryMissing" | "isCallbackMissing">;
  readonly receipts: Pick<ReceiptWriter, "write">;
  /** What of the run directory is not as it was made. */
  readonly changedQuickly: () => readonly string[];
  readonly end: (cause: StopCause) => void;
}

/** Returns a listener to be called with every event before it is shown; it reports once. */
export function watchTools({
  plan,
  ledger,
  attestation,
  receipts,
  changedQuickly,
  end,
}: ToolWatch): (event: AgentEventBody) => void {
  const isGuarded = plan.events.includes("PreToolUse");
  let started = 0;
  let hasReported = false;

  const findFault = (event: AgentEventBody): { fault: string; detail: string } | undefined => {
    if (!SHOWS_WORK.includes(event.type)) return undefined;
    if (attestation.isCanaryMissing)
      return { fault: "canary", detail: `${event.type} before the ${CANARY_EVENT} hook reached the broker` };
    if (event.type !== "tool_call" && event.type !== "tool_result") return undefined;
    // Not for a message: commands of claude's own ask no UserPromptSubmit, and call no tool (C-45).
    if (attestation.isCallbackMissing)
      return { fault: "canary", detail: `${event.type} before any callback came over the agent's own pipes` };
    const [change] = changedQuickly();
    if (change !== undefined) return { fault: "tampered", detail: change };
    if (!isGuarded) return undefined;
    if (event.type === "tool_result") {
      if (event.id !== undefined) ledger.end(event.id);
      const isUnasked = event.ran === true && event.id !== undefined && !ledger.isAdmitted(event.id);
      return isUnasked
        ? { fault: "unasked", detail: `tool call ${event.id} ran without an admitting PreToolUse verdict` }
        : undefined;
    }
    if (event.started !== true || !WORKING_ITEMS.includes(event.name)) return undefined;
    started += 1;
    if (started <= ledger.working) return undefined;
    return {
      fault: "unasked",
      detail: `${started} tool calls started and ${ledger.working} were admitted: ${event.name} ${event.id} ${summarise(event.input)}`,
    };
  };

  return (event) => {
    if (hasReported) return;
    const found = findFault(event);
    if (found === undefined) return;
    hasReported = true;
    const concerns = found.fault === "canary" ? CANARY_EVENT : "PreToolUse";
    receipts.write({ kind: "fault", event: concerns, ...found });
    end({ kind: "unenforced", reason: `${found.fault}: ${found.detail}` });
  };
}

function summarise(input: Json): string {
  const text = JSON.stringify(input);
  return text.length > SUMMARY_MAX ? `${text.slice(0, SUMMARY_MAX)}…` : text;
}
