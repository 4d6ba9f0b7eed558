// One call on its way through the gate: what it carries, and the outcomes it may come to.

import type { Fired, HostSession } from "./runtime.ts";
import type { InputCheck } from "./tool-input.ts";
import type { DenyStage, HostTool, ToolCall, ToolCallContext, ToolOutcome } from "./tool-types.ts";

export interface RegisteredTool {
  readonly tool: HostTool;
  /** Undefined: any object will do. */
  readonly check: InputCheck | undefined;
}

export interface Passage {
  readonly registered: RegisteredTool;
  readonly call: ToolCall;
  readonly session: HostSession;
  readonly context: ToolCallContext;
  readonly signal: AbortSignal;
  readonly contexts: string[];
  /** Blocks behind calls that this one has made. */
  readonly blocks: string[];
  suppressed: boolean;
  /** An `allow` that may grant. */
  granted: boolean;
}

/** What hooks said of a call, also of one that they stopped. */
export function take(passage: Passage, { said: { context, suppress } }: Fired): void {
  if (context !== undefined) passage.contexts.push(context);
  if (suppress === true) passage.suppressed = true;
}

/** What every outcome says. */
export function tellOf({ registered: { tool }, contexts, suppressed }: Passage) {
  return {
    tool: tool.name,
    suppressed,
    ...(contexts.length === 0 ? {} : { context: contexts.join("\n\n") }),
  };
}

export function deny(
  passage: Passage,
  stage: DenyStage,
  reason: string,
  validation?: Extract<ToolOutcome, { status: "denied" }>["validation"],
): ToolOutcome {
  return {
    status: "denied",
    ...tellOf(passage),
    stage,
    reason,
    ...(validation === undefined ? {} : { validation }),
  };
}

export function fail(
  told: { tool: string; suppressed?: boolean; context?: string },
  stage: Extract<ToolOutcome, { status: "failed" }>["stage"],
  error: unknown,
): Extract<ToolOutcome, { status: "failed" }> {
  return { suppressed: false, ...told, status: "failed", stage, error };
}

/** A block behind the call. */
export function feedbackOf({ blocks }: Passage, { verdict }: Fired): { feedback?: string } {
  const all = verdict.decision === "deny" ? [...blocks, verdict.reason] : blocks;
  return all.length === 0 ? {} : { feedback: all.join("\n\n") };
}
