// @ts-check
// Runs the hooks of an event and reads their answers as claude does (docs/providers/claude.md, verdicts).

import { commits, valueOfSin } from "../committed.mjs";
import { runShell } from "../processes.mjs";
import { askCallback } from "./callbacks.mjs";

/** @import { Session, Handler } from "./session.mjs" */
/** @import { Ended } from "../processes.mjs" */

/**
 * @typedef {object} Answer
 * @property {boolean} isDenied
 * @property {string} reason
 * @property {Record<string, any>} [updatedInput]
 * @property {boolean} hasNoVerdict the hook failed, and nothing says that a failure blocks
 */

/** claude cuts SessionEnd hooks at 1.5 s (C-26); a hook without a timeout has 600 s. */
const SESSION_END_MS = 1500;
const DEFAULT_TIMEOUT_SECONDS = 600;

/**
 * Runs every handler of an event at once.
 * @param {Session} session @param {string} event
 * @param {{ fields: Record<string, any>, subject?: string, sins?: readonly unknown[] }} call `subject`: what matchers look at.
 * @returns {Promise<Answer[]>}
 */
export async function askHooks(session, event, { fields, subject, sins }) {
  if (valueOfSin(session.script.sins, "skip-event") === event) return [];
  const groups = Array.isArray(session.hooks[event]) ? session.hooks[event] : [];
  const handlers = groups.filter(({ matcher }) => matches(matcher, subject)).flatMap(({ hooks }) => hooks);
  const { sessionId, transcriptPath, cwd, permissionMode } = session;
  const envelope = {
    session_id: sessionId,
    transcript_path: transcriptPath,
    cwd,
    ...(event === "SessionStart" ? {} : { permission_mode: permissionMode }),
    hook_event_name: event,
    ...fields,
  };
  return Promise.all([
    ...handlers.map((handler) => runHandler(session, { event, envelope, handler, subject, sins })),
    ...listCallbacks(session, event, subject).map((callback) =>
      askHost(session, callback, { event, envelope, sins }),
    ),
  ]);
}

/**
 * @param {Session} session
 * @param {{ event: string, envelope: Record<string, any>, handler: Handler, subject: string | undefined, sins: readonly unknown[] | undefined }} call
 * @returns {Promise<Answer>}
 */
async function runHandler(session, { event, envelope, handler, subject, sins }) {
  const name = subject === undefined ? event : `${event}:${subject}`;
  await sayHook(session, event, { subtype: "hook_started", hook_name: name, hook_event: event });
  const ended = await runShell({
    shell: "/bin/sh",
    command: handler.command,
    cwd: session.cwd,
    input: `${JSON.stringify(envelope)}\n`,
    timeoutMs: event === "SessionEnd" ? SESSION_END_MS : (handler.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
    isKilledHalfWay: commits(sins, "kill-hook-shell"),
    waitsForOutput: true,
  });
  const code =
    valueOfSin(sins, "hook-exit-code") ?? ended.code ?? (ended.error === undefined ? undefined : 127);
  await sayHook(session, event, {
    subtype: "hook_response",
    hook_name: name,
    hook_event: event,
    output: `${ended.stderr}${ended.stdout}`,
    stdout: ended.stdout,
    stderr: ended.stderr,
    ...(code === undefined ? {} : { exit_code: code }),
    outcome: code === 0 ? "success" : "error",
  });
  return readAnswer(handler, ended);
}

/** @param {Session} session @param {string} event @param {string | undefined} subject */
function listCallbacks({ callbacks, script: { sins } }, event, subject) {
  if (commits(sins, "never-call-back")) return [];
  return (callbacks[event] ?? [])
    .filter(({ matcher }) => matches(matcher, subject))
    .flatMap(({ hookCallbackIds, ...group }) => hookCallbackIds.map((id) => ({ id, ...group })));
}

/**
 * Of a call nobody answers any more: only PreToolUse stops then (C-51).
 * @param {Session} session @param {{ id: string, timeout?: number, onFailure?: string }} callback
 * @param {{ event: string, envelope: Record<string, any>, sins: readonly unknown[] | undefined }} call
 * @returns {Promise<Answer>}
 */
async function askHost(session, { id, timeout, onFailure }, { event, envelope, sins }) {
  const ended = await askCallback(session, id, { envelope, timeoutSeconds: timeout, sins });
  const isGate = event === "PreToolUse";
  if (ended === undefined) return { isDenied: isGate, reason: "nobody answers", hasNoVerdict: false };
  if (ended.isTimedOut && commits(sins, "give-up-asking")) return NO_ANSWER;
  if (ended.isTimedOut && isGate) return { isDenied: true, reason: "no answer in time", hasNoVerdict: false };
  return readAnswer(
    { type: "callback", command: "", ...(onFailure === undefined ? {} : { onFailure }) },
    ended,
  );
}

/** @type {Answer} */
const NO_ANSWER = { isDenied: false, reason: "", hasNoVerdict: false };

/** @param {string | undefined} matcher @param {string | undefined} subject */
function matches(matcher, subject) {
  if (matcher === undefined || matcher === "" || matcher === "*" || subject === undefined) return true;
  return new RegExp(`^(?:${matcher})$`).test(subject);
}

/** SessionEnd has no lines; the others only when they are asked for. @param {Session} session @param {string} event @param {object} line */
async function sayHook(session, event, line) {
  if (event === "SessionEnd" || (!session.flags.has("--include-hook-events") && event !== "SessionStart"))
    return;
  await session.say({ type: "system", ...line });
}

/** @param {Handler} handler @param {Ended} ended @returns {Answer} */
function readAnswer(handler, { code, stdout, stderr, isTimedOut }) {
  const answer = parseObject(stdout);
  const specific = answer?.hookSpecificOutput ?? {};
  const deny = (/** @type {string} */ reason) => ({ isDenied: true, reason, hasNoVerdict: false });
  if (specific.permissionDecision === "deny" || specific.permissionDecision === "ask")
    return deny(String(specific.permissionDecisionReason ?? "denied"));
  if (answer?.decision === "block") return deny(String(answer.reason ?? "blocked"));
  if (specific.decision?.behavior === "deny") return deny(String(specific.decision.message ?? "denied"));
  if (code === 2) return deny(stderr.trim());
  if (code !== 0 || isTimedOut) {
    if (handler.onFailure === "block") return deny("the hook failed, and onFailure blocks");
    return { isDenied: false, reason: "", hasNoVerdict: true };
  }
  const { updatedInput } = specific;
  const isRewrite = typeof updatedInput === "object" && updatedInput !== null;
  return { isDenied: false, reason: "", hasNoVerdict: false, ...(isRewrite ? { updatedInput } : {}) };
}

/** Anything but one whole object on stdout is no answer (C-6). @param {string} text @returns {Record<string, any> | undefined} */
function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
