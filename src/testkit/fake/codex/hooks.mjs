// @ts-check
// Runs the hooks of an event and reads their answers as codex does (docs/providers/codex.md, verdicts): three shapes block, and
// whatever is not understood lets the call run without a word.

import { commits, valueOfSin } from "../committed.mjs";
import { BASH, runShell } from "../processes.mjs";

/** @import { Ended } from "../processes.mjs" */
/** @import { Session } from "./session.mjs" */
/** @typedef {{ isDenied: boolean, reason: string, updatedInput?: Record<string, any> }} Answer */

/** Keys that an answer may have; with another one it is void. */
const ROOT_KEYS = [
  "continue",
  "stopReason",
  "suppressOutput",
  "systemMessage",
  "decision",
  "reason",
  "hookSpecificOutput",
];
const SPECIFIC_KEYS = [
  "hookEventName",
  "permissionDecision",
  "permissionDecisionReason",
  "updatedInput",
  "additionalContext",
];
const WITHOUT_TURN = ["SessionStart", "SessionEnd"];

/**
 * Runs every trusted and enabled handler of an event at once; the others are skipped in silence.
 * @param {Session} session @param {string} event
 * @param {{ fields?: Record<string, any>, subject?: string, sins?: readonly unknown[] }} [call]
 * @returns {Promise<Answer[]>}
 */
export function askHooks(session, event, { fields = {}, subject, sins } = {}) {
  const { threadId, turnId, cwd, model, hooks, script, rollout } = session;
  const isSkipped = valueOfSin(script.sins, "skip-event") === event;
  const live = (isSkipped ? [] : hooks).filter(
    (hook) =>
      hook.event === event && hook.isEnabled && hook.trust === "trusted" && matches(hook.matcher, subject),
  );
  const envelope = {
    session_id: threadId,
    transcript_path: rollout.path,
    cwd,
    hook_event_name: event,
    ...(event === "SessionEnd" ? {} : { model, permission_mode: "bypassPermissions" }),
    ...(WITHOUT_TURN.includes(event) ? {} : { turn_id: turnId }),
    ...fields,
  };
  return Promise.all(
    live.map(async ({ command, timeout }) =>
      readAnswer(
        event,
        await runShell({
          shell: BASH,
          command,
          cwd,
          input: `${JSON.stringify(envelope)}\n`,
          timeoutMs: timeout * 1000,
          isKilledHalfWay: commits(sins, "kill-hook-shell"),
          waitsForOutput: true,
        }),
      ),
    ),
  );
}

/** @param {string | undefined} matcher @param {string | undefined} subject */
function matches(matcher, subject) {
  if (matcher === undefined || matcher === "" || matcher === "*" || subject === undefined) return true;
  if (/^[A-Za-z0-9_|]+$/.test(matcher)) return matcher.split("|").includes(subject);
  return new RegExp(matcher).test(subject);
}

/** Blank as Rust sees it: U+0085 too. @param {unknown} text */
const isBlank = (text) => typeof text !== "string" || /^[\s\u0085]*$/.test(text);

/** @param {string} event @param {Ended} ended @returns {Answer} */
function readAnswer(event, { code, stdout, stderr, isTimedOut }) {
  /** @type {Answer} */
  const runs = { isDenied: false, reason: "" };
  if (isTimedOut) return runs;
  if (code === 2) return isBlank(stderr) ? runs : { isDenied: true, reason: stderr.trim() };
  if (code !== 0) return runs;
  const answer = parseAnswer(stdout);
  if (answer === undefined) return runs;
  if (answer.decision === "block")
    return isBlank(answer.reason) ? runs : { isDenied: true, reason: answer.reason };
  const {
    permissionDecision: decision,
    permissionDecisionReason: reason,
    updatedInput,
  } = answer.hookSpecificOutput ?? {};
  if (event !== "PreToolUse") return runs;
  if (decision === "deny") return isBlank(reason) ? runs : { isDenied: true, reason };
  if (decision !== "allow" || updatedInput === undefined) return runs;
  return { ...runs, updatedInput };
}

/** @param {string} stdout @returns {Record<string, any> | undefined} */
function parseAnswer(stdout) {
  /** @type {any} */
  let answer;
  try {
    answer = JSON.parse(stdout);
  } catch {
    return undefined;
  }
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return undefined;
  if (Object.keys(answer).some((key) => !ROOT_KEYS.includes(key))) return undefined;
  const specific = answer.hookSpecificOutput;
  if (specific === undefined) return answer;
  if (typeof specific !== "object" || specific === null || specific.hookEventName === undefined)
    return undefined;
  return Object.keys(specific).some((key) => !SPECIFIC_KEYS.includes(key)) ? undefined : answer;
}
