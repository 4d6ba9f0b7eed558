// Profile verdicts in claude's terms. Deny: exit 2, the reason on stderr and the deny JSON on stdout together; claude then shows
// the JSON reason instead of our command string (docs/providers/claude.md C-12).

import type { JsonObject } from "../../json.ts";
import type { EventName } from "../../profile/events.ts";
import type { Verdict } from "../../profile/verdict.ts";
import type { EncodedVerdict } from "../provider.ts";
import { sayReason, wellFormed } from "../reason.ts";

const SILENT: EncodedVerdict = { code: 0, stdout: "", stderr: "" };

export function encodeVerdict(event: EventName, verdict: Verdict): EncodedVerdict {
  if (verdict.decision === "deny") return encodeDeny(event, sayReason(verdict.reason));
  const specific: JsonObject = {};
  if (verdict.context !== undefined) specific.additionalContext = wellFormed(verdict.context);
  if (event === "PermissionRequest" && verdict.decision === "allow")
    specific.decision = { behavior: "allow" };
  if (event === "PreToolUse") {
    // With "allow" a rewrite would bypass claude's own permission rules, so it goes without unless the entry grants.
    if (verdict.decision === "rewrite") specific.updatedInput = verdict.updatedInput;
    const grants = verdict.decision === "allow" || (verdict.decision === "rewrite" && verdict.grants);
    if (grants) specific.permissionDecision = "allow";
  }
  if (Object.keys(specific).length === 0) return SILENT;
  return {
    code: 0,
    stdout: JSON.stringify({ hookSpecificOutput: { hookEventName: event, ...specific } }),
    stderr: "",
  };
}

function encodeDeny(event: EventName, reason: string): EncodedVerdict {
  switch (event) {
    case "PreToolUse":
      return withJson(reason, {
        hookSpecificOutput: {
          hookEventName: event,
          permissionDecision: "deny",
          permissionDecisionReason: reason,
        },
      });
    case "PermissionRequest": {
      const decision = { behavior: "deny", message: reason };
      return {
        code: 0,
        stdout: JSON.stringify({ hookSpecificOutput: { hookEventName: event, decision } }),
        stderr: "",
      };
    }
    case "UserPromptSubmit":
      return withJson(reason, { decision: "block", reason });
    default:
      // Feedback: the JSON form says the reason without our command string; exit 2 adds nothing.
      return { code: 0, stdout: JSON.stringify({ decision: "block", reason }), stderr: "" };
  }
}

function withJson(reason: string, answer: JsonObject): EncodedVerdict {
  return { code: 2, stdout: JSON.stringify(answer), stderr: reason };
}
