// @ts-check
// Hooks that a launcher registered as callbacks: asked on stdout, answered on stdin (docs/providers/claude.md, callbacks).

import { randomUUID } from "node:crypto";
import { commits } from "../committed.mjs";
import { printLine } from "../output.mjs";

/** @import { Session } from "./session.mjs" */
/** @import { Ended } from "../processes.mjs" */
/** @typedef {{ matcher?: string, hookCallbackIds: string[], timeout?: number, onFailure?: string }} CallbackGroup */
/** @typedef {{ subtype: string, response?: unknown, error?: string }} Response */
/** @typedef {{ answers: Map<string, (response: Response | "gone") => void>, hasEnded: boolean }} Channel */

const DEFAULT_TIMEOUT_SECONDS = 60;

/** @returns {Channel} */
export function createChannel() {
  return { answers: new Map(), hasEnded: false };
}

/** An answer to nothing is dropped. @param {Channel} channel @param {any} message */
export function takeResponse({ answers }, { response }) {
  answers.get(response?.request_id)?.(response);
}

/** Nobody will answer any more. @param {Channel} channel */
export function endChannel(channel) {
  channel.hasEnded = true;
  for (const settle of channel.answers.values()) settle("gone");
}

/**
 * Asks one callback and says how it ended, in the terms of a hook's process. Undefined: nobody answers any more.
 * @param {Session} session @param {string} callbackId
 * @param {{ envelope: Record<string, any>, timeoutSeconds: number | undefined, sins: readonly unknown[] | undefined }} call
 * @returns {Promise<Ended | undefined>}
 */
export async function askCallback({ channel }, callbackId, { envelope, timeoutSeconds, sins }) {
  if (channel.hasEnded) return undefined;
  const id = randomUUID();
  const request = { subtype: "hook_callback", callback_id: callbackId, input: envelope };
  const line = { type: "control_request", request_id: id, request };
  /** @type {Promise<Response | "gone" | "late">} */
  const answered = new Promise((resolve) => {
    channel.answers.set(id, resolve);
    setTimeout(() => resolve("late"), (timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000).unref();
    if (commits(sins, "give-up-asking")) resolve("late");
  });
  if (commits(sins, "ask-unknown"))
    await printLine({
      ...line,
      request_id: randomUUID(),
      request: { ...request, callback_id: "never-registered" },
    });
  await printLine(line);
  if (commits(sins, "ask-twice")) await printLine(line);
  const response = await answered;
  channel.answers.delete(id);
  if (response === "gone") return undefined;
  if (response === "late") {
    await printLine({ type: "control_cancel_request", request_id: id });
    return ended({ code: null, isTimedOut: true });
  }
  if (response.subtype !== "success") return ended({ code: 1, stderr: String(response.error) });
  return ended({ code: 0, stdout: JSON.stringify(response.response ?? {}) });
}

/** @param {Partial<Ended>} fields @returns {Ended} */
const ended = (fields) => ({ code: 0, signal: null, stdout: "", stderr: "", isTimedOut: false, ...fields });
