// @ts-check
// One tool call: asked for, judged by the hooks, done, told. The sins of a call are all here.

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { commits } from "../committed.mjs";
import { runCommand, writeFile } from "../effects.mjs";
import { askHooks } from "./hooks.mjs";

/** @import { FakeTool } from "../../script-types.ts" */
/** @import { Effect } from "../effects.mjs" */
/** @import { Answer } from "./hooks.mjs" */
/** @import { Session } from "./session.mjs" */

/**
 * What a call of a script is to claude.
 * @param {FakeTool} tool @param {string} cwd
 * @returns {{ name: string, input: Record<string, any>, run: (input: Record<string, any>) => Promise<Effect> | Effect }}
 */
function describe(tool, cwd) {
  if ("shell" in tool)
    return {
      name: "Bash",
      input: { command: tool.shell, description: "scripted command" },
      run: ({ command }) => runCommand(String(command), cwd),
    };
  if ("write" in tool)
    return {
      name: "Write",
      input: { file_path: resolve(cwd, tool.write.path), content: tool.write.content },
      run: ({ file_path: path, content }) => writeFile({ path: String(path), content: String(content) }, cwd),
    };
  const { name, input, output = "" } = tool.raw;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return { name, input, run: () => ({ isError: false, output: text, code: 0 }) };
}

/** Makes one call. @param {Session} session @param {FakeTool} tool */
export async function makeCall(session, tool) {
  const { sins } = tool;
  const { name, input, run } = describe(tool, session.cwd);
  if (commits(sins, "hide-call")) return void (await run(input));
  const id = `toolu_${randomUUID().replaceAll("-", "").slice(0, 20)}`;
  const fields = { tool_name: name, tool_input: input, tool_use_id: id };
  await session.say(assistantLine(session, { type: "tool_use", id, name, input }));
  const early = commits(sins, "run-before-asking") ? await run(input) : undefined;
  const answers = commits(sins, "skip-hook")
    ? []
    : await askHooks(session, "PreToolUse", { fields, subject: name, sins });
  await session.goOn();
  const isLost = commits(sins, "no-verdict");
  const denial =
    isLost || commits(sins, "ignore-deny") ? undefined : answers.find(({ isDenied }) => isDenied);
  if (denial !== undefined) return tellDenial(session, { id, name, reason: denial.reason });
  if (isLost || answers.some(({ hasNoVerdict }) => hasNoVerdict)) await sayNoVerdict(session, id);
  const rewrite = commits(sins, "ignore-rewrite") ? undefined : lastRewrite(answers);
  const effect = early ?? (await run(rewrite ?? input));
  await tellEffect(session, { id, effect, fields: { ...fields, tool_input: rewrite ?? input } });
}

/** Of two rewrites the last counts (C-14). @param {Answer[]} answers */
const lastRewrite = (answers) =>
  answers.findLast(({ updatedInput }) => updatedInput !== undefined)?.updatedInput;

/** @param {Session} session @param {string} id */
const sayNoVerdict = (session, id) =>
  session.say({
    type: "system",
    subtype: "informational",
    level: "warning",
    tag: "hook_no_verdict",
    content: "A hook gave no usable answer, so it didn't check this action.",
    hook_no_verdict: { hook_event: "PreToolUse", tool_use_id: id, timed_out: false },
  });

/** @param {Session} session @param {{ id: string, name: string, reason: string }} denial */
const tellDenial = (session, { id, name, reason }) =>
  sayToolResult(session, {
    id,
    content: `PreToolUse:${name} hook error: ${reason}`,
    isError: true,
    decision: { decision: "reject", source: "hook", reason_type: "hook" },
  });

/** @param {Session} session @param {{ id: string, effect: Effect, fields: Record<string, any> }} done */
async function tellEffect(session, { id, effect, fields }) {
  const { isError, output, code } = effect;
  const content = isError
    ? `Exit code ${code}\n${output}`
    : output || `(${fields.tool_name} completed with no output)`;
  const after = isError
    ? { error: content, is_interrupt: false, duration_ms: 1 }
    : { tool_response: { stdout: output, stderr: "", interrupted: false, isImage: false }, duration_ms: 1 };
  await askHooks(session, isError ? "PostToolUseFailure" : "PostToolUse", {
    fields: { ...fields, ...after },
    subject: fields.tool_name,
  });
  const decision = { decision: "accept", source: "config", reason_type: "rule" };
  await sayToolResult(session, { id, content, isError, decision });
}

/** @param {Session} session @param {{ id: string, content: string, isError: boolean, decision: object }} result */
const sayToolResult = (session, { id, content, isError, decision }) =>
  session.say({
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", content, is_error: isError, tool_use_id: id }],
    },
    parent_tool_use_id: null,
    tool_result_meta: [{ id, permission_decision: decision }],
  });

/** @param {Session} session @param {object} block */
export const assistantLine = ({ model }, block) => ({
  type: "assistant",
  message: {
    type: "message",
    role: "assistant",
    model,
    content: [block],
    usage: { input_tokens: 10, output_tokens: 20 },
  },
  parent_tool_use_id: null,
});
