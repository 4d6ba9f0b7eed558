// @ts-check
// One start of a fake codex: its command, its flags, its hooks.

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { commits, valueOfSin } from "../committed.mjs";
import { parseFlags, withoutFlag } from "../flags.mjs";
import { DEFAULT_VERSIONS, fakeVersion } from "../main.mjs";
import { leave, printError, printLine, printText, waitForEver } from "../output.mjs";
import { listHooks, readConfig } from "./config.mjs";
import { COMMANDS } from "./known-flags.mjs";
import { openRollout } from "./rollout.mjs";

/** @import { FakeScript } from "../../script-types.ts" */
/** @typedef {Awaited<ReturnType<typeof openSession>>} Session */

/** The session of this process. An unknown flag is exit 2, a bad configuration exit 1. @param {FakeScript} script */
export async function openSession(script) {
  const [command = "", ...rest] = process.argv.slice(2);
  const { sins } = script;
  const commandFlags = COMMANDS[command];
  if (commandFlags === undefined)
    return refuse(2, `unrecognized subcommand '${command}'; a fake knows exec and app-server`);
  const parsed = parseFlags(rest, withoutFlag(commandFlags, valueOfSin(sins, "drop-flag")));
  if ("unknown" in parsed) return refuse(2, `unexpected argument '${parsed.unknown}' found`);
  const { values, words } = parsed;
  const home = process.env.CODEX_HOME;
  if (home !== undefined && !existsSync(home)) return refuse(1, `CODEX_HOME ${home} does not exist`);
  const isStripped =
    commits(sins, "strip-settings") ||
    (command === "exec" && commits(sins, "strip-settings-after-preflight"));
  /** @type {Record<string, any>} */
  let config;
  try {
    config = readConfig([...(values.get("-c") ?? []), ...(values.get("--config") ?? [])]);
  } catch (error) {
    return refuse(1, error instanceof Error ? error.message : String(error));
  }
  if (isStripped) delete config.hooks;
  const isJson = values.has("--json") || values.has("--experimental-json");
  /** @param {string[]} names */
  const flag = (...names) => names.flatMap((name) => values.get(name) ?? []).at(-1);
  const threadId = words[0] === "resume" && words[1] !== undefined ? words[1] : randomUUID();
  const keepsRecord = command === "exec" && !values.has("--ephemeral") && !commits(sins, "no-record");
  const session = {
    script,
    command,
    words,
    hooks: listHooks(config),
    threadId,
    rollout: openRollout(keepsRecord ? home : undefined, threadId),
    turnId: randomUUID(),
    version: fakeVersion(valueOfSin(sins, "report-version") ?? script.version ?? DEFAULT_VERSIONS.codex),
    model: flag("--model", "-m") ?? "fake",
    cwd: flag("--cd", "-C") ?? process.cwd(),
    isJson,
    isAborted: false,
    items: 0,
    /** Waits for ever once the turn is aborted. */
    goOn: () => (session.isAborted ? waitForEver() : Promise.resolve()),
    /** Prints one event; without `--json` only the words of the model. @param {Record<string, any>} line */
    say: async (line) => {
      await session.goOn();
      if (isJson) await printLine(line);
      else if (line.item?.type === "agent_message") await printText(`${line.item.text}\n`);
    },
  };
  return session;
}

/** @param {number} code @param {string} message @returns {Promise<never>} */
async function refuse(code, message) {
  await printError(`error: ${message}\n`);
  return leave(code);
}
