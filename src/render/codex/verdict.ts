// Profile verdicts in codex's terms. Only three shapes block (docs/providers/codex.md X-10); a blank reason or an unknown field
// makes codex run the call, so nothing else is ever printed.

import type { JsonObject } from "../../json.ts";
import type { EventName } from "../../profile/events.ts";
import type { Verdict } from "../../profile/verdict.ts";
import type { EncodedVerdict } from "../provider.ts";

const SILENT: EncodedVerdict = { code: 0, stdout: "", stderr: "" };

export function encodeVerdict(event: EventName, verdict: Verdict): EncodedVerdict {
  if (verdict.decision === "deny") return encodeDeny(event, verdict.reason.trim() || "denied");
  const specific: JsonObject = {};
  if (verdict.context !== undefined) specific.additionalContext = verdict.context;
  if (event === "PreToolUse" && verdict.decision === "rewrite") {
    // codex rewrites shell and patch only, by `command`, and runs the original when the shape is another.
    if (isCommandTool(verdict.updatedInput) === false)
      return encodeDeny(event, "the guard's rewrite has no string command, and codex would run the original");
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

function isCommandTool({ command }: JsonObject): boolean {
  return typeof command === "string";
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
