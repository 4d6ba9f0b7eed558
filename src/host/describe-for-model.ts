// What a model is to be told of a tool call: the result with what hooks had to say of it, or why there is none. Pure.

import { messageOf } from "../message-of.ts";
import { responseOf } from "./tool-response.ts";
import type { ToolOutcome } from "./tool-types.ts";

/** The text of a tool message. A block behind the call and added context are in it: a note that the model never sees stops nothing. */
export function describeForModel(outcome: ToolOutcome): string {
  const parts = [mainPart(outcome)];
  if (outcome.status !== "denied" && outcome.feedback !== undefined)
    parts.push(`Blocked by a hook: ${outcome.feedback}`);
  if (outcome.context !== undefined) parts.push(outcome.context);
  return parts.join("\n\n");
}

function mainPart(outcome: ToolOutcome): string {
  if (outcome.status === "denied") return `${outcome.tool} was denied: ${outcome.reason}`;
  if (outcome.status === "failed") {
    const { error } = outcome;
    return `${outcome.tool} failed: ${messageOf(error)}`;
  }
  const response = responseOf(outcome.result);
  return typeof response === "string" ? response : JSON.stringify(response);
}
