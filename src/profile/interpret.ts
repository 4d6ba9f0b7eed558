// What a hook's exit, stdout and stderr mean. Pure; holds every exit-code, decision and failure-mode rule of the profile
// (docs/PROFILE.md). Must never admit a gate's action because of something it could not read (Dv1-5).

import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../json.ts";
import { findDuplicatedKey, findMisplaced, QUOTE_LIMIT } from "./decision-keys.ts";
import { describeExit } from "./describe-exit.ts";
import { capabilityOf, type EventCapability, type EventName, type VerdictField } from "./events.ts";
import type { EntryPolicy, HookExit, Interpretation, Note, NoteCode, Verdict } from "./verdict.ts";

export interface InterpretPolicy extends EntryPolicy {
  /** The hook printed more than the cap and its stdout was cut. */
  readonly stdoutTruncated?: boolean;
  /** Longest quote of what a failing guard printed, in UTF-16 units. @default 300 */
  readonly quoteLimit?: number;
}

/**
 * @param exit how the hook ended
 * @param stdout text printed, decoded as UTF-8
 * @param stderr text printed, decoded as UTF-8
 * @param policy `on_failure` and `grants` of the entry
 */
export function interpret(
  exit: HookExit,
  stdout: string,
  stderr: string,
  event: EventName,
  policy: InterpretPolicy,
): Interpretation {
  const capability = capabilityOf(event);
  if (exit.kind === "answered" && exit.blocks) return interpretBlock(stderr, capability, "block");
  if (exit.kind === "exit" && exit.code === 2) return interpretBlock(stderr, capability, "exit 2");
  if (exit.kind !== "answered" && (exit.kind !== "exit" || exit.code !== 0))
    return interpretFailure(exit, stdout, stderr, capability, policy);
  return interpretOutput(stdout, event, capability, policy);
}

function interpretBlock(stderr: string, capability: EventCapability, how: string): Interpretation {
  const reason = stderr.trim() || "blocked by a hook that gave no reason";
  const note: Note = { code: "denied_by_exit", detail: how };
  if (!capability.accepts.includes("deny")) {
    return {
      verdict: { decision: "none" },
      notes: [note, ignored(`${how} cannot block this event`)],
      failed: false,
    };
  }
  return { verdict: { decision: "deny", reason }, notes: [note], failed: false };
}

function interpretFailure(
  exit: HookExit,
  stdout: string,
  stderr: string,
  { role }: EventCapability,
  { onFailure, closesFeedback = false, quoteLimit }: InterpretPolicy,
): Interpretation {
  const what = describeExit(exit);
  const said = [quote("stderr", stderr, quoteLimit), quote("stdout", stdout, quoteLimit)]
    .filter((part) => part !== "")
    .join("; ");
  const detail = said === "" ? what : `${what}: ${said}`;
  const code: NoteCode = exit.kind === "timeout" ? "hook_timeout" : "hook_failed";
  // A late gate denies whatever the entry says: that is the profile's own rule (Dv1-4), not Bridle's stricter default.
  const denies =
    (role === "gate" && (exit.kind === "timeout" || onFailure === "closed")) ||
    (role === "feedback" && closesFeedback);
  return failure(denies, role === "gate", { code, detail }, `the guard did not answer: ${detail}`);
}

function failure(denies: boolean, isGate: boolean, note: Note, reason: string): Interpretation {
  if (denies) return { verdict: { decision: "deny", reason }, notes: [note], failed: true };
  const notes: Note[] = isGate ? [note, { code: "admitted_on_failure", detail: "on_failure: open" }] : [note];
  return { verdict: { decision: "none" }, notes, failed: true };
}

function failsClosed(
  { role }: EventCapability,
  { onFailure, closesFeedback = false }: InterpretPolicy,
): boolean {
  return (role === "gate" && onFailure === "closed") || (role === "feedback" && closesFeedback);
}

function interpretOutput(
  stdout: string,
  event: EventName,
  capability: EventCapability,
  policy: InterpretPolicy,
): Interpretation {
  const text = stdout.replace(/^\uFEFF/, "").trim();
  const isGate = capability.role === "gate";
  const failClosed = failsClosed(capability, policy);
  if (policy.stdoutTruncated === true) {
    const note: Note = { code: "output_truncated", detail: quote("stdout", text) };
    return failure(
      failClosed,
      isGate,
      note,
      "the guard printed more than the output limit, so its answer is not known",
    );
  }
  if (text === "") return { verdict: { decision: "none" }, notes: [], failed: false };
  const answer = parseJsonObject(text);
  if (answer === undefined) {
    if (text.includes("{")) {
      const note: Note = { code: "unreadable_output", detail: quote("stdout", text) };
      return failure(failClosed, isGate, note, `the guard's output is not one JSON object: ${note.detail}`);
    }
    const note: Note = { code: "no_structured_output", detail: quote("stdout", text) };
    const asContext = event === "UserPromptSubmit" || event === "SessionStart";
    return {
      verdict: asContext ? { decision: "none", context: text } : { decision: "none" },
      notes: [note],
      failed: false,
    };
  }
  const duplicated = findDuplicatedKey(text);
  if (duplicated !== undefined) {
    const note: Note = { code: "misplaced_decision", detail: `${duplicated} twice` };
    return failure(failClosed, isGate, note, `the guard's answer holds ${duplicated} twice`);
  }
  return interpretAnswer(answer, event, capability, policy);
}

function interpretAnswer(
  answer: JsonObject,
  event: EventName,
  capability: EventCapability,
  policy: InterpretPolicy,
): Interpretation {
  const notes: Note[] = [];
  const specific = isJsonObject(answer.hookSpecificOutput) ? answer.hookSpecificOutput : {};
  const decided =
    event === "PreToolUse"
      ? decideTool(answer, specific, notes)
      : decideElsewhere(answer, event, specific, notes);
  if (decided.kind === "ask") {
    const reason = `the guard asks for approval and nobody is there to answer: ${decided.asked}`;
    // What the guard wants where somebody says yes; it grants nothing by itself.
    const lifted = admit(false, answer, specific, event, capability, { ...policy, grants: false }, []);
    return {
      ...deny(reason, capability, notes),
      ...besideOf(answer, specific, capability),
      asked: { reason: decided.asked, lifted },
    };
  }
  if (decided.kind === "deny")
    return { ...deny(decided.reason, capability, notes), ...besideOf(answer, specific, capability) };
  if (decided.kind === "misplaced") {
    const note: Note = { code: "misplaced_decision", detail: decided.detail };
    const outcome = failure(
      failsClosed(capability, policy),
      capability.role === "gate",
      note,
      `the guard's decision is not where the profile reads it: ${note.detail}`,
    );
    return { ...outcome, notes: [...notes, ...outcome.notes] };
  }
  return admit(decided.kind === "allow", answer, specific, event, capability, policy, notes);
}

type Decided =
  | { kind: "none" | "allow" }
  | { kind: "deny"; reason: string }
  | { kind: "ask"; asked: string }
  | { kind: "misplaced"; detail: string };

function asMisplaced(detail: string | undefined): Decided | undefined {
  return detail === undefined ? undefined : { kind: "misplaced", detail };
}

function decideTool(answer: JsonObject, specific: JsonObject, notes: Note[]): Decided {
  const wrongEvent = Object.hasOwn(specific, "hookEventName") && specific.hookEventName !== "PreToolUse";
  const misplaced = asMisplaced(
    findMisplaced(answer, specific, wrongEvent ? [] : ["permissionDecision"], []),
  );
  if (!wrongEvent && Object.hasOwn(specific, "permissionDecision")) {
    const value = specific.permissionDecision;
    if (value === "deny")
      return { kind: "deny", reason: reasonOf(specific.permissionDecisionReason, answer.reason) };
    if (value === "ask") {
      notes.push({ code: "ask_denied", detail: "ask" });
      return { kind: "ask", asked: reasonOf(specific.permissionDecisionReason) };
    }
    if (value !== "allow") return unknownDecision("permissionDecision", value, notes);
    return misplaced ?? { kind: "allow" };
  }
  return misplaced ?? { kind: "none" };
}

function decideElsewhere(answer: JsonObject, event: EventName, specific: JsonObject, notes: Note[]): Decided {
  if (event === "PermissionRequest" && isJsonObject(specific.decision))
    return decidePermission(answer, specific, notes);
  const misplaced = asMisplaced(findMisplaced(answer, specific, [], ["decision"]));
  if (Object.hasOwn(answer, "decision")) {
    if (answer.decision === "block")
      return { kind: "deny", reason: reasonOf(answer.reason, answer.stopReason) };
    return unknownDecision("decision", answer.decision, notes);
  }
  return misplaced ?? { kind: "none" };
}

function decidePermission(answer: JsonObject, specific: JsonObject, notes: Note[]): Decided {
  const decision = specific.decision as JsonObject;
  if (decision.behavior === "deny")
    return { kind: "deny", reason: reasonOf(decision.message, answer.reason) };
  if (decision.behavior !== "allow") return unknownDecision("decision.behavior", decision.behavior, notes);
  return asMisplaced(findMisplaced(answer, specific, ["decision"], [])) ?? { kind: "allow" };
}

function unknownDecision(key: string, value: Json | undefined, notes: Note[]): Decided {
  const shown = `${key} ${JSON.stringify(value) ?? "undefined"}`.slice(0, QUOTE_LIMIT);
  notes.push({ code: "unknown_decision", detail: shown });
  return { kind: "deny", reason: `the guard gave an unknown decision: ${shown}` };
}

function deny(reason: string, { accepts }: EventCapability, notes: Note[]): Interpretation {
  if (accepts.includes("deny")) return { verdict: { decision: "deny", reason }, notes, failed: false };
  return {
    verdict: { decision: "none" },
    notes: [...notes, ignored("this event cannot be blocked")],
    failed: false,
  };
}

function admit(
  isAllowed: boolean,
  answer: JsonObject,
  specific: JsonObject,
  event: EventName,
  { accepts, role }: EventCapability,
  { grants }: InterpretPolicy,
  notes: Note[],
): Interpretation {
  const accepted = (field: VerdictField) => accepts.includes(field);
  const context = contextOf(answer, specific);
  if (context !== undefined && !accepted("context")) notes.push(ignored(`additionalContext on ${event}`));
  const withContext = {
    ...(context !== undefined && accepted("context") ? { context } : {}),
    ...(answer.suppressOutput === true ? { suppress: true as const } : {}),
  };
  if (isAllowed && !grants) notes.push({ code: "allow_not_granted", detail: "allow" });

  const rewriteAt = [specific, answer].find((place) => Object.hasOwn(place, "updatedInput"));
  if (rewriteAt !== undefined) {
    const { updatedInput } = rewriteAt;
    if (!accepted("rewrite")) notes.push(ignored(`updatedInput on ${event}`));
    else if (rewriteAt === answer || !isJsonObject(updatedInput)) {
      // The original must not run in place of what the guard wanted instead.
      notes.push({ code: "misplaced_decision", detail: "updatedInput" });
      const reason = "the guard's updatedInput is not a JSON object inside hookSpecificOutput";
      return { verdict: { decision: "deny", reason }, notes, failed: true };
    } else {
      const verdict: Verdict = {
        decision: "rewrite",
        updatedInput,
        grants: isAllowed && grants,
        ...withContext,
      };
      return { verdict, notes, failed: false };
    }
  }
  if (accepted("retry") && specific.retry === true)
    return { verdict: { decision: "none", ...withContext, retry: true }, notes, failed: false };
  const granted = isAllowed && grants && accepted("allow") && role === "gate";
  return { verdict: { decision: granted ? "allow" : "none", ...withContext }, notes, failed: false };
}

function besideOf(
  answer: JsonObject,
  specific: JsonObject,
  { accepts }: EventCapability,
): Pick<Interpretation, "beside"> {
  const context = accepts.includes("context") ? contextOf(answer, specific) : undefined;
  const suppress = answer.suppressOutput === true;
  if (context === undefined && !suppress) return {};
  return {
    beside: { ...(context === undefined ? {} : { context }), ...(suppress ? { suppress: true } : {}) },
  };
}

function contextOf(answer: JsonObject, specific: JsonObject): string | undefined {
  const context = specific.additionalContext ?? answer.additionalContext;
  return typeof context === "string" && context.trim() !== "" ? context : undefined;
}

function reasonOf(...candidates: (Json | undefined)[]): string {
  for (const text of candidates) if (typeof text === "string" && text.trim() !== "") return text.trim();
  return "denied by a hook that gave no reason";
}

function ignored(detail: string): Note {
  return { code: "field_ignored", detail };
}

function quote(label: string, text: string, limit = QUOTE_LIMIT): string {
  const trimmed = text.trim();
  if (trimmed === "") return "";
  const cut = trimmed.length > limit ? `${trimmed.slice(0, limit)}…` : trimmed;
  return `${label} ${JSON.stringify(cut)}`;
}
