// @ts-check
// A fake codex from start to exit: app-server or exec, signals.

import { text } from "node:stream/consumers";
import { commits, valueOfSin } from "../committed.mjs";
import { leave, printError, waitForEver } from "../output.mjs";
import { killGroups } from "../processes.mjs";
import { serveApp } from "./app-server.mjs";
import { askHooks } from "./hooks.mjs";
import { openSession } from "./session.mjs";
import { runTurn } from "./turn.mjs";

/** @import { FakeScript } from "../../script-types.ts" */
/** @import { Session } from "./session.mjs" */

/** @param {FakeScript} script */
export async function runCodex(script) {
  const session = await openSession(script);
  if (session.command === "app-server") return serveApp(session);
  const { sins } = script;
  heedSignals(session);
  const early = valueOfSin(sins, "exit-before-prompt");
  if (early !== undefined) {
    await printError("out of order\n");
    return leave(early);
  }
  const prompt = await readPrompt(session);
  if (prompt === "") {
    await printError("No prompt provided via stdin.\n");
    return leave(1);
  }
  const code = await runTurn(session, prompt);
  if (commits(sins, "never-exit")) return waitForEver();
  await askHooks(session, "SessionEnd", { fields: { reason: "other" } });
  return leave(code === 0 ? (valueOfSin(sins, "exit-code") ?? 0) : code);
}

/** @param {Session} session */
async function readPrompt({ words }) {
  const [prompt = "-"] = words[0] === "resume" ? words.slice(2) : words;
  return prompt === "-" ? text(process.stdin) : prompt;
}

/** SIGINT is the clean stop; SIGTERM and SIGHUP just end it and leave orphans. @param {Session} session */
function heedSignals(session) {
  if (commits(session.script.sins, "ignore-signals")) {
    for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(signal, () => {});
    return;
  }
  process.on("SIGINT", async () => {
    session.isAborted = true;
    killGroups();
    await askHooks(session, "Interrupt");
    await askHooks(session, "SessionEnd", { fields: { reason: "other" } });
    await leave(1);
  });
}
