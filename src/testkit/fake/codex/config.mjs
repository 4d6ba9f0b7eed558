// @ts-check
// The `-c` values of one start, and the hooks in them with their trust (docs/providers/codex.md, hooks and trust). The hash is
// computed here once more and not taken from the renderer, so that a fake does not agree with a wrong one.

import { createHash } from "node:crypto";
import { getStaticTOMLValue, parseTOML } from "toml-eslint-parser";

/** @typedef {{ event: string, matcher: string | undefined, command: string, timeout: number, key: string, hash: string, trust: string, isEnabled: boolean }} Hook */

const EVENTS = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PermissionRequest",
  "PostToolUse",
  "Stop",
  "SubagentStart",
  "SubagentStop",
  "PreCompact",
  "PostCompact",
  "SessionEnd",
  "Interrupt",
];
/** Events whose timeout is cut to 3 s, and what it is when none is given. @type {Readonly<Record<string, number>>} */
const SHORT_EVENTS = { SessionEnd: 1, Interrupt: 3 };
const SHORT_SECONDS = 3;
const DEFAULT_SECONDS = 600;

/**
 * All `-c` values as one object. A value that is no TOML is its own text; a key is split at every dot.
 * @param {readonly string[]} overrides
 * @returns {Record<string, any>}
 * @throws {Error} for one without `=`
 */
export function readConfig(overrides) {
  /** @type {Record<string, any>} */
  const config = {};
  for (const override of overrides) {
    const at = override.indexOf("=");
    if (at < 1) throw new Error(`invalid override (missing '='): ${override}`);
    const path = override.slice(0, at).split(".");
    const last = /** @type {string} */ (path.pop());
    let table = config;
    for (const key of path) {
      table[key] ??= {};
      table = table[key];
    }
    table[last] = readValue(override.slice(at + 1));
  }
  return config;
}

/** @param {string} text */
function readValue(text) {
  try {
    return getStaticTOMLValue(parseTOML(`value = ${text}`)).value;
  } catch {
    return text;
  }
}

/** Every hook of a known event, live or not. @param {Record<string, any>} config @returns {Hook[]} */
export function listHooks({ hooks: table = {}, features = {} }) {
  if (features.hooks === false) return [];
  const { state = {} } = table;
  return EVENTS.flatMap((event) =>
    (table[event] ?? []).flatMap((/** @type {any} */ { matcher, hooks = [] }, /** @type {number} */ group) =>
      hooks.map((/** @type {any} */ { command, timeout: given }, /** @type {number} */ index) => {
        const key = `/<session-flags>/config.toml:${snake(event)}:${group}:${index}`;
        const timeout = timeoutOf(event, given);
        const hash = hashOf({ event, matcher, command, timeout });
        const { trusted_hash: trusted, enabled = true } = state[key] ?? {};
        const trust = trusted === undefined ? "untrusted" : trusted === hash ? "trusted" : "modified";
        return { event, matcher, command, timeout, key, hash, trust, isEnabled: enabled };
      }),
    ),
  );
}

/** @param {string} event @param {number | undefined} given */
function timeoutOf(event, given) {
  const short = SHORT_EVENTS[event];
  const seconds = Math.max(1, given ?? short ?? DEFAULT_SECONDS);
  return short === undefined ? seconds : Math.min(seconds, SHORT_SECONDS);
}

/** @param {string} event */
const snake = (event) => event.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();

/** @param {{ event: string, matcher: string | undefined, command: string, timeout: number }} hook */
function hashOf({ event, matcher, command, timeout }) {
  // Keys in the order of the alphabet, as the canonical form wants them.
  const canonical = {
    event_name: snake(event),
    hooks: [{ async: false, command, timeout, type: "command" }],
    ...(matcher === undefined ? {} : { matcher }),
  };
  return `sha256:${createHash("sha256").update(JSON.stringify(canonical)).digest("hex")}`;
}
