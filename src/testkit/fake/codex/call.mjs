// @ts-check
// One tool call: judged by the hooks, done, told. codex tells nothing of a denied call. The sins of a call are all here.

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { commits } from "../committed.mjs";
import { applyPatch, patchFor, runCommand } from "../effects.mjs";
import { printError } from "../output.mjs";
import { askHooks } from "./hooks.mjs";
import { withHead } from "./rollout.mjs";

/** @import { FakeTool } from "../../script-types.ts" */
/** @import { Effect } from "../effects.mjs" */
/** @import { Session } from "./session.mjs" */

/**
 * @typedef {object} Call
 * @property {string} name
 * @property {Record<string, any>} input
 * @property {(input: Record<string, any>) => Promise<Effect> | Effect} run
 * @property {(input: Record<string, any>, effect: Effect | undefined) => object | undefined} item what the stream shows of it;
 *   without an effect: as it starts. Undefined: nothing.
 * @property {(input: Record<string, any>, effect: Effect) => Record<string, any> | undefined} record what the session file shows of
 *   it once it has ended. Undefined: nothing.
 */

/** @param {FakeTool} tool @param {string} cwd @returns {Call} */
function describe(tool, cwd) {
  if ("shell" in tool)
    return {
      name: "Bash",
      input: { command: tool.shell },
      run: ({ command }) => runCommand(String(command), cwd),
      item: ({ command }, effect) => ({
        type: "command_execution",
        command: `/bin/bash -lc '${command}'`,
        aggregated_output: effect?.output ?? "",
        exit_code: effect?.code ?? null,
        status: statusOf(effect),
      }),
      record: ({ command }, effect) => ({
        type: "CommandExecution",
        command: ["/bin/bash", "-lc", command],
        source: "unified_exec_startup",
        exit_code: effect.code,
        status: statusOf(effect),
      }),
    };
  if ("write" in tool)
    return {
      name: "apply_patch",
      input: { command: patchFor(tool.write) },
      run: ({ command }) => applyPatch(String(command), cwd),
      item: ({ command }, effect) => ({
        type: "file_change",
        changes: [...String(command).matchAll(/^\*\*\* Add File: (.+)$/gm)].map(([, path]) => ({
          path,
          kind: "add",
        })),
        status: statusOf(effect),
      }),
      record: ({ command }, effect) => ({
        type: "FileChange",
        changes: Object.fromEntries(
          [...String(command).matchAll(/^\*\*\* Add File: (.+)$/gm)].map(([, path = ""]) => [
            resolve(cwd, path),
            { type: "add" },
          ]),
        ),
        status: statusOf(effect),
      }),
    };
  const { name, input, output = "" } = tool.raw;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const [, server, method] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return {
    name,
    input,
    run: () => ({ isError: false, output: text, code: 0 }),
    item: (args, effect) =>
      server === undefined
        ? undefined
        : {
            type: "mcp_tool_call",
            server,
            tool: method,
            arguments: args,
            result: effect === undefined ? null : { content: [{ type: "text", text: effect.output }] },
            status: statusOf(effect),
          },
    record: (args, effect) =>
      server === undefined
        ? undefined
        : { type: "McpToolCall", server, tool: method, arguments: args, status: statusOf(effect) },
  };
}

/** @param {Effect | undefined} effect */
function statusOf(effect) {
  if (effect === undefined) return "in_progress";
  return effect.isError ? "failed" : "completed";
}

/** Makes one call. @param {Session} session @param {FakeTool} tool */
export async function makeCall(session, tool) {
  const { sins = [] } = tool;
  const { name, input, run, item, record } = describe(tool, session.cwd);
  if (commits(sins, "hide-call")) return void (await run(input));
  const id = `call_${randomUUID()}`;
  const { rollout } = session;
  const fields = { tool_name: name, tool_input: input, tool_use_id: id };
  rollout.called({ id, name, input });
  /** @type {string | undefined} */
  let itemId;
  /** @param {Record<string, any>} used @param {Effect} [effect] */
  const show = async (used, effect) => {
    const shown = item(used, effect);
    if (shown === undefined) return;
    itemId ??= `item_${session.items++}`;
    await session.say({
      type: effect === undefined ? "item.started" : "item.completed",
      item: { id: itemId, ...shown },
    });
  };
  /** @type {Effect | undefined} */
  let early;
  if (commits(sins, "run-before-asking")) {
    early = await run(input);
    await show(input);
  }
  const answers = commits(sins, "skip-hook")
    ? []
    : await askHooks(session, "PreToolUse", { fields, subject: name, sins });
  await session.goOn();
  const denial = commits(sins, "ignore-deny") ? undefined : answers.find(({ isDenied }) => isDenied);
  if (denial !== undefined) {
    const words = `Command blocked by PreToolUse hook: ${denial.reason}`;
    await printError(`ERROR codex_core::tools::router: ${words}\n`);
    return rollout.returned(id, words);
  }
  const used = (commits(sins, "ignore-rewrite") ? undefined : rewriteOf(answers)) ?? input;
  // A call that sins has had its effect when it is told: whoever ends the run at its line must not win a race.
  if (sins.length > 0) early ??= await run(used);
  if (itemId === undefined) await show(used);
  const effect = early ?? (await run(used));
  const kept = record(used, effect);
  if (kept !== undefined) rollout.carriedOut(id, kept);
  rollout.returned(id, withHead(effect));
  await show(used, effect);
  const after = { ...fields, tool_input: used, tool_response: effect.output };
  await askHooks(session, "PostToolUse", { fields: after, subject: name });
}

/** Of two rewrites the last counts. @param {Awaited<ReturnType<typeof askHooks>>} answers */
const rewriteOf = (answers) =>
  answers.findLast(({ updatedInput }) => updatedInput !== undefined)?.updatedInput;
