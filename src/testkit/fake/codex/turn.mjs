// @ts-check
// One turn of a fake codex: the hooks around it, the steps of the script, the final message.

import { commits } from "../committed.mjs";
import { leave, printText } from "../output.mjs";
import { commitStepSins, fillIn } from "../step-sins.mjs";
import { makeCall } from "./call.mjs";
import { askHooks } from "./hooks.mjs";

/** @import { Session } from "./session.mjs" */

/** Runs the turn and resolves with the exit code it makes for. @param {Session} session @param {string} prompt @returns {Promise<number>} */
export async function runTurn(session, prompt) {
  const { script, threadId } = session;
  const { sins, steps } = script;
  await session.say({ type: "thread.started", thread_id: threadId });
  await session.say({ type: "turn.started" });
  const source = session.words[0] === "resume" ? "resume" : "startup";
  if (!commits(sins, "no-session-start"))
    await askHooks(session, "SessionStart", { fields: { source }, subject: source });
  const answers = await askHooks(session, "UserPromptSubmit", { fields: { prompt } });
  const isBlocked = answers.some(({ isDenied }) => isDenied);
  if ((isBlocked && !commits(sins, "ignore-prompt-block")) || commits(sins, "report-prompt-block")) {
    await session.say({ type: "turn.completed", usage: usageOf(0) });
    return 0;
  }
  /** @param {Record<string, any>} item */
  const sayItem = (item) =>
    session.say({ type: "item.completed", item: { id: `item_${session.items++}`, ...item } });
  const say = (/** @type {string} */ text) => sayItem({ type: "agent_message", text });
  let finalText = "";
  for (const { text, thinking, tools = [], sins: stepSins } of steps) {
    await session.goOn();
    await commitStepSins(stepSins, { say, filler: (pad) => ({ type: "turn.status", pad }) });
    if (thinking !== undefined) await sayItem({ type: "reasoning", text: thinking });
    if (text !== undefined) {
      finalText = fillIn(text, prompt);
      await say(finalText);
    }
    await Promise.all(tools.map((tool) => makeCall(session, tool)));
  }
  await askStop(session, finalText);
  return finish(session, Math.max(1, steps.length));
}

/** A Stop hook that blocks makes the model go on, without a limit. @param {Session} session @param {string} text */
async function askStop(session, text) {
  for (let isAgain = false; ; isAgain = true) {
    const fields = { stop_hook_active: isAgain, last_assistant_message: text };
    const answers = await askHooks(session, "Stop", { fields });
    if (!answers.some(({ isDenied }) => isDenied)) return;
    await session.goOn();
  }
}

/** @param {number} turns */
const usageOf = (turns) => ({
  input_tokens: 10 * turns,
  cached_input_tokens: 0,
  cache_write_input_tokens: 0,
  output_tokens: 20 * turns,
  reasoning_output_tokens: 0,
});

/** The final message, with what a script wants wrong about it. @param {Session} session @param {number} turns */
async function finish(session, turns) {
  const { sins } = session.script;
  const line = { type: "turn.completed", usage: usageOf(turns) };
  if (commits(sins, "no-result")) return leave(0);
  if (commits(sins, "cut-last-line")) {
    await printText(JSON.stringify(line).slice(0, -10));
    return leave(0);
  }
  if (commits(sins, "fail-turn")) {
    const message = "529 scripted fault";
    await session.say({ type: "error", message });
    await session.say({ type: "turn.failed", error: { message } });
    return 1;
  }
  if (commits(sins, "many-results")) for (let nth = 1; nth < 3; nth++) await session.say(line);
  await session.say(line);
  return 0;
}
