// @ts-check
// One start of a fake claude: what its command line and its settings say, and whether its turn was aborted.

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { commits, valueOfSin } from "../committed.mjs";
import { parseFlags, withoutFlag } from "../flags.mjs";
import { DEFAULT_VERSIONS, fakeVersion } from "../main.mjs";
import { leave, printError, printLine, printText, waitForEver } from "../output.mjs";
import { createChannel } from "./callbacks.mjs";
import { KNOWN_FLAGS } from "./known-flags.mjs";

/** @import { FakeScript } from "../../script-types.ts" */
/** @import { CallbackGroup } from "./callbacks.mjs" */
/** @typedef {{ type: string, command: string, timeout?: number, onFailure?: string }} Handler */
/** @typedef {Record<string, { matcher?: string, hooks: Handler[] }[]>} Hooks */
/** @typedef {ReturnType<typeof createSession>} Session */

/** @param {FakeScript} script @param {Map<string, string[]>} flags @param {string[]} words */
export function createSession(script, flags, words) {
  const { sins } = script;
  /** @param {string} name */
  const flag = (name) => flags.get(name)?.at(-1);
  const { settings, errors } = commits(sins, "strip-settings")
    ? { settings: undefined, errors: [] }
    : readSettings(flag("--settings"));
  const sessionId = flag("--resume") ?? flag("--session-id") ?? randomUUID();
  const isSimple = flags.has("--bare") || flags.has("--safe-mode");
  const session = {
    script,
    words,
    flags,
    settings,
    errors,
    sessionId,
    isSimple,
    /** Hooks that fire. @type {Hooks} */
    hooks: isSimple ? {} : (settings?.hooks ?? {}),
    version: fakeVersion(valueOfSin(sins, "report-version") ?? script.version ?? DEFAULT_VERSIONS.claude),
    model: flag("--model") ?? "fake",
    permissionMode: flag("--permission-mode") ?? "default",
    cwd: process.cwd(),
    transcriptPath: join(
      process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), ".claude"),
      "projects",
      `${sessionId}.jsonl`,
    ),
    /** Hooks that the launcher registered as callbacks. @type {Record<string, CallbackGroup[]>} */
    callbacks: {},
    channel: createChannel(),
    isAborted: false,
    hasStarted: false,
    /** Waits for ever once the turn is aborted: an abandoned turn does nothing more. */
    goOn: () => (session.isAborted ? waitForEver() : Promise.resolve()),
    /** Prints one line of the stream; of the other output formats only the result. @param {Record<string, any>} line */
    say: async (line) => {
      await session.goOn();
      await session.sayEvenNow(line);
    },
    /** @param {Record<string, any>} line */
    sayEvenNow: (line) => {
      const format = flag("--output-format") ?? "text";
      if (format === "stream-json") return printLine({ ...line, session_id: sessionId });
      if (line.type !== "result") return Promise.resolve();
      return format === "json"
        ? printLine({ ...line, session_id: sessionId })
        : printText(`${line.result ?? ""}\n`);
    },
  };
  return session;
}

/** @param {string} given */
const isInline = (given) => given.trim().startsWith("{");

/** A file that cannot be read as an object means no hooks, not an end (docs/providers/claude.md C-4). @param {string | undefined} given */
function readSettings(given) {
  if (given === undefined) return { settings: undefined, errors: [] };
  try {
    const settings = JSON.parse(isInline(given) ? given : readFileSync(given, "utf8"));
    return { settings, errors: [] };
  } catch (error) {
    return { settings: undefined, errors: [String(error)] };
  }
}

/** The session of this process; a flag it does not know ends it. @param {FakeScript} script @returns {Promise<Session>} */
export async function openSession(script) {
  const known = withoutFlag(KNOWN_FLAGS, valueOfSin(script.sins, "drop-flag"));
  const parsed = parseFlags(process.argv.slice(2), known);
  if ("unknown" in parsed) {
    await printError(`error: unknown option '${parsed.unknown}'\n`);
    return leave(1);
  }
  const given = parsed.values.get("--settings")?.at(-1);
  if (given !== undefined && !isInline(given) && !existsSync(given)) {
    await printError(`Error: Settings file not found: ${given}\n`);
    return leave(1);
  }
  return createSession(script, parsed.values, parsed.words);
}
