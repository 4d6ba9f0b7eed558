// @ts-check
// One turn of a fake claude: the hooks around it, the steps of the script, the final message.

import { commits } from "../committed.mjs";
import { leave, printText } from "../output.mjs";
import { commitStepSins, fillIn } from "../step-sins.mjs";
import { assistantLine, makeCall } from "./call.mjs";
import { askHooks } from "./hooks.mjs";

/** @import { Session } from "./session.mjs" */

/** claude overrides the ninth block of a Stop hook (C-18). */
const STOP_BLOCKS = 8;

/** Fires SessionStart, once: before `initialize` is answered, or before the first turn (C-40). @param {Session} session */
export async function startSession(session) {
  if (session.hasStarted) return;
  session.hasStarted = true;
  if (commits(session.script.sins, "no-session-start")) return;
  const source = session.flags.has("--resume") ? "resume" : "startup";
  await askHooks(session, "SessionStart", { fields: { source, model: session.model }, subject: source });
}

/** Runs a turn and resolves with the exit code it makes for. @param {Session} session @param {string} prompt @returns {Promise<number>} */
export async function runTurn(session, prompt) {
  const { script, model, cwd, version, permissionMode } = session;
  const { sins, steps } = script;
  await startSession(session);
  const [block] = (await askHooks(session, "UserPromptSubmit", { fields: { prompt } })).filter(
    ({ isDenied }) => isDenied,
  );
  await session.say({
    type: "system",
    subtype: "init",
    cwd,
    tools: ["Bash", "Write"],
    model,
    permissionMode,
    claude_code_version: version,
  });
  if (commits(sins, "report-prompt-block")) return tellBlockedPrompt(session, prompt, "blocked");
  if (block !== undefined && !commits(sins, "ignore-prompt-block"))
    return tellBlockedPrompt(session, prompt, block.reason);
  let finalText = "";
  for (const { text, thinking, tools = [], sins: stepSins } of steps) {
    await session.goOn();
    const say = (/** @type {string} */ said) =>
      session.say(assistantLine(session, { type: "text", text: said }));
    await commitStepSins(stepSins, { say, filler: (pad) => ({ type: "system", subtype: "status", pad }) });
    if (thinking !== undefined) await session.say(assistantLine(session, { type: "thinking", thinking }));
    if (text !== undefined) {
      finalText = fillIn(text, prompt);
      await say(finalText);
    }
    await Promise.all(tools.map((tool) => makeCall(session, tool)));
  }
  await askStop(session, finalText);
  return finish(session, { text: finalText, turns: Math.max(1, steps.length) });
}

/** A Stop hook that blocks makes the model go on; a script has nothing more to say then. @param {Session} session @param {string} text */
async function askStop(session, text) {
  for (let blocks = 0; blocks <= STOP_BLOCKS; blocks++) {
    const answers = await askHooks(session, "Stop", {
      fields: { stop_hook_active: blocks > 0, last_assistant_message: text },
    });
    if (!answers.some(({ isDenied }) => isDenied)) return;
  }
}

/** @param {{ text: string, turns: number }} turn */
export const resultLine = ({ text, turns }) => ({
  type: "result",
  subtype: "success",
  is_error: false,
  terminal_reason: "completed",
  num_turns: turns,
  result: text,
  usage: { input_tokens: 10 * turns, cache_read_input_tokens: 0, output_tokens: 20 * turns },
  total_cost_usd: turns / 100,
  permission_denials: [],
  duration_ms: 1,
});

/** @param {Session} session @param {string} prompt @param {string} reason */
async function tellBlockedPrompt(session, prompt, reason) {
  const content = `UserPromptSubmit operation blocked by hook:\n${reason}\n\nOriginal prompt: ${prompt}`;
  await session.say({
    type: "system",
    subtype: "informational",
    content,
    level: "warning",
    prevent_continuation: true,
    prompt_submit_outcome: { kind: "blocked_by_hook", prompt_kept: false, reason },
  });
  const { terminal_reason: _none, ...line } = resultLine({ text: content, turns: 0 });
  await session.say(line);
  return 0;
}

/** The final message, with what a script wants wrong about it. @param {Session} session @param {{ text: string, turns: number }} turn */
async function finish(session, turn) {
  const { sins } = session.script;
  const line = resultLine(turn);
  if (commits(sins, "no-result")) return leave(0);
  if (commits(sins, "cut-last-line")) {
    await printText(JSON.stringify(line).slice(0, -10));
    return leave(0);
  }
  if (commits(sins, "fail-turn")) {
    const text = "API Error: 529 scripted fault";
    await session.say({
      ...line,
      is_error: true,
      terminal_reason: "api_error",
      api_error_status: 529,
      result: text,
    });
    return 1;
  }
  if (commits(sins, "many-results")) {
    for (const nth of ["first", "second"]) await session.say({ ...line, result: `${nth} result` });
  }
  await session.say(line);
  return 0;
}
