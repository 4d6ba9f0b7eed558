// @ts-check
// The session file of a fake codex, as far as it tells of tool calls (docs/providers/codex.md ).

import { randomUUID } from "node:crypto";
import { appendFileSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** @import { Effect } from "../effects.mjs" */

/**
 * @typedef {object} Rollout
 * @property {string | null} path
 * @property {(call: { id: string, name: string, input: Record<string, any> }) => void} called the model asked for the call
 * @property {(id: string, item: Record<string, any>) => void} carriedOut the call has run and ended
 * @property {(id: string, output: string) => void} returned the model has its result
 */

/** Without a home nothing is written. @param {string | undefined} home @param {string} threadId @returns {Rollout} */
export function openRollout(home, threadId) {
  if (home === undefined) return { path: null, called: () => {}, carriedOut: () => {}, returned: () => {} };
  const path = findEarlier(join(home, "sessions"), threadId) ?? newPath(home, threadId);
  /** @param {string} type @param {Record<string, any>} payload */
  const write = (type, payload) =>
    appendFileSync(path, `${JSON.stringify({ timestamp: new Date().toISOString(), type, payload })}\n`, {
      mode: 0o600,
    });
  mkdirSync(dirname(path), { recursive: true });
  write("session_meta", { id: threadId });
  return {
    path,
    called: ({ id, name, input }) => write("response_item", callOf(id, name, input)),
    carriedOut: (id, item) =>
      write("event_msg", { type: "item_completed", thread_id: threadId, item: { id, ...item } }),
    returned: (id, output) =>
      write("response_item", {
        type: "function_call_output",
        id: `fco_${randomUUID()}`,
        call_id: id,
        output,
      }),
  };
}

/** A resumed thread goes on in its file. @param {string} folder @param {string} threadId */
function findEarlier(folder, threadId) {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const found = names.find((name) => name.endsWith(`-${threadId}.jsonl`));
    return found === undefined ? undefined : join(folder, found);
  } catch {
    return undefined; // no session was kept here
  }
}

/** @param {string} home @param {string} threadId */
function newPath(home, threadId) {
  const now = new Date().toISOString();
  const [year = "", month = "", day = ""] = now.slice(0, 10).split("-");
  const stamp = now.slice(0, 19).replaceAll(":", "-");
  return join(home, "sessions", year, month, day, `rollout-${stamp}-${threadId}.jsonl`);
}

/** The call as the model wrote it: hooks are shown other names. @param {string} id @param {string} name @param {Record<string, any>} input */
function callOf(id, name, input) {
  const head = { id: `fc_${randomUUID()}`, call_id: id };
  if (name === "apply_patch") return { type: "custom_tool_call", ...head, name, input: input.command };
  if (name === "Bash")
    return {
      type: "function_call",
      ...head,
      name: "exec_command",
      arguments: JSON.stringify({ cmd: input.command }),
    };
  const [, server, method] = /^(mcp__.+?)__(.+)$/.exec(name) ?? [];
  const named = server === undefined ? { name } : { namespace: server, name: method };
  return { type: "function_call", ...head, ...named, arguments: JSON.stringify(input) };
}

/** A tool's output behind codex's own head. @param {Effect} effect */
export const withHead = ({ code, output }) =>
  `Chunk ID: ${randomUUID().slice(0, 6)}\nWall time: 0.0010 seconds\nProcess exited with code ${code}\nOutput:\n${output}`;
