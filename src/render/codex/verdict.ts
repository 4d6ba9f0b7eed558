// Profile verdicts in codex's terms. Only three shapes block (docs/providers/codex.md X-10); a blank reason or an unknown field
// makes codex run the call, so nothing else is ever printed.

import type { Json, JsonObject } from "../../json.ts";
import type { EventName } from "../../profile/events.ts";
import type { Verdict } from "../../profile/verdict.ts";
import type { EncodedVerdict } from "../provider.ts";
import { sayReason, wellFormed } from "../reason.ts";

const SILENT: EncodedVerdict = { code: 0, stdout: "", stderr: "" };

export function encodeVerdict(event: EventName, verdict: Verdict): EncodedVerdict {
  if (verdict.decision === "deny") return encodeDeny(event, sayReason(verdict.reason));
  const specific: JsonObject = {};
  if (verdict.context !== undefined) specific.additionalContext = wellFormed(verdict.context);
  if (event === "PreToolUse" && verdict.decision === "rewrite") {
    const problem = findUnreadable(verdict.updatedInput);
    if (problem !== undefined)
      return encodeDeny(event, `the guard's rewrite ${problem}, and codex would run the original`);
    specific.permissionDecision = "allow";
    specific.updatedInput = verdict.updatedInput;
  }
  if (Object.keys(specific).length === 0) return SILENT;
  return {
    code: 0,
    stdout: JSON.stringify({ hookSpecificOutput: { hookEventName: event, ...specific } }),
    stderr: "",
  };
}

/** codex's JSON reader gives up at 128 levels; some of them are the answer's own. */
const DEPTH_MAX = 100;

/** Why codex would not take this rewrite. It rewrites by `command` only, and runs the original for an answer it cannot read. */
function findUnreadable(updatedInput: JsonObject): string | undefined {
  if (typeof updatedInput.command !== "string") return "has no string command";
  if (depthExceeds(updatedInput, DEPTH_MAX)) return `is nested deeper than ${DEPTH_MAX} levels`;
  const text = JSON.stringify(updatedInput, (_key, value: Json) => {
    if (typeof value === "string") return wellFormed(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [wellFormed(key), inner]));
  });
  return text === JSON.stringify(updatedInput) ? undefined : "holds half a character";
}

function depthExceeds(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => depthExceeds(inner, levels - 1));
}

function encodeDeny(event: EventName, reason: string): EncodedVerdict {
  if (event === "PreToolUse") {
    const specific = { hookEventName: event, permissionDecision: "deny", permissionDecisionReason: reason };
    return { code: 2, stdout: JSON.stringify({ hookSpecificOutput: specific }), stderr: reason };
  }
  if (event === "UserPromptSubmit")
    return { code: 2, stdout: JSON.stringify({ decision: "block", reason }), stderr: reason };
  return { code: 0, stdout: JSON.stringify({ decision: "block", reason }), stderr: "" };
}
