// @ts-check
// A fake claude from start to exit: control channel, prompts, signals.

import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { commits, valueOfSin } from "../committed.mjs";
import { leave, printError, printLine, waitForEver } from "../output.mjs";
import { killGroups } from "../processes.mjs";
import { endChannel, takeResponse } from "./callbacks.mjs";
import { answerControl } from "./control.mjs";
import { askHooks } from "./hooks.mjs";
import { openSession } from "./session.mjs";
import { resultLine, runTurn, startSession } from "./turn.mjs";

/** @import { FakeScript } from "../../script-types.ts" */
/** @import { Session } from "./session.mjs" */

/** @param {FakeScript} script */
export async function runClaude(script) {
  const session = await openSession(script);
  heedSignals(session);
  const isStream = session.flags.get("--input-format")?.at(-1) === "stream-json";
  if (isStream) return serve(session);
  const early = valueOfSin(script.sins, "exit-before-prompt");
  if (early !== undefined) return exitEarly(early);
  const prompt = session.words[0] ?? (await text(process.stdin)).trim();
  return end(session, await runTurn(session, prompt));
}

/** Over stdin: requests and prompts, one a line, until it ends. @param {Session} session */
async function serve(session) {
  const { sins } = session.script;
  const early = valueOfSin(sins, "exit-before-prompt");
  let code = 0;
  /** Prompts are worked off one after the other. */
  let work = Promise.resolve();
  /** @type {(value: void) => void} */
  let letGo = () => {};

  const startTurn = (/** @type {string} */ prompt) => {
    const aborted = new Promise((/** @type {(value: void) => void} */ resolve) => {
      letGo = resolve;
    });
    const turn = async () => {
      session.isAborted = false;
      isWorking = true;
      await Promise.race([
        aborted,
        runTurn(session, prompt).then((found) => {
          code = found;
        }),
      ]);
      isWorking = false;
    };
    work = work.then(turn);
  };
  let isWorking = false;

  const interrupt = async () => {
    if (!isWorking) return;
    session.isAborted = true;
    killGroups();
    code = 1;
    await session.sayEvenNow(abortedLine());
    letGo();
  };

  for await (const line of createInterface({ input: process.stdin })) {
    const message = parse(line);
    if (message === undefined) {
      await printError(`Error parsing streaming input line: ${line.slice(0, 200)}\n`);
      return leave(1);
    }
    if (message.type === "user") {
      if (early !== undefined) return exitEarly(early);
      startTurn(textOf(message.message?.content));
    } else if (message.type === "control_response") takeResponse(session.channel, message);
    else if (message.type === "control_request") {
      const { subtype } = message.request;
      if (subtype === "initialize" && !session.isSimple) session.callbacks = message.request.hooks ?? {};
      if (subtype === "interrupt" && commits(sins, "ignore-signals")) continue;
      if (subtype === "initialize") await startSession(session);
      const answer = answerControl(session, message);
      if (answer !== undefined) await printLine(answer);
      if (subtype === "get_hooks_listing" && early !== undefined) return exitEarly(early);
      if (subtype === "interrupt") await interrupt();
    }
  }
  endChannel(session.channel);
  await work;
  return end(session, code);
}

/** @param {string} line @returns {any} */
function parse(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @param {unknown} content */
function textOf(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => block.text ?? "").join("") : "";
}

/** @param {number} code */
async function exitEarly(code) {
  await printError("out of order\n");
  return leave(code);
}

const abortedLine = () => ({
  ...resultLine({ text: "", turns: 1 }),
  subtype: "error_during_execution",
  is_error: true,
  terminal_reason: "aborted_tools",
});

/** @param {Session} session @param {number} code */
async function end(session, code) {
  const { sins } = session.script;
  if (commits(sins, "never-exit")) return waitForEver();
  await askHooks(session, "SessionEnd", { fields: { reason: "other" } });
  return leave(code === 0 ? (valueOfSin(sins, "exit-code") ?? 0) : code);
}

/** SIGTERM and SIGHUP end hooks and tools first, SIGINT also tells a result (C-15, C-32). @param {Session} session */
function heedSignals(session) {
  const isDeaf = commits(session.script.sins, "ignore-signals");
  const stop = async (/** @type {number} */ code) => {
    session.isAborted = true;
    killGroups();
    if (code === 0) await session.sayEvenNow(abortedLine());
    await askHooks(session, "SessionEnd", { fields: { reason: "other" } });
    await leave(code);
  };
  for (const [signal, code] of Object.entries({ SIGTERM: 143, SIGHUP: 129, SIGINT: 0 }))
    process.on(signal, () => void (isDeaf ? undefined : stop(code)));
}
