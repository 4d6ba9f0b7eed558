// Looks for secrets in what a tool is given and in what it gave back, with the rules of secretlint. Names kind and place, never the value. A
// module of its own: its rules are optional packages, and agent-bridle/hooks loads without them.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { FunctionEntry } from "../declaration/types.ts";
import { isJsonObject } from "../json.ts";
import { deny } from "../profile/answer.ts";
import { isEventName } from "../profile/events.ts";
import { checkCount, checkOptions, checkStrings, optionError } from "./options.ts";
import { placeOf } from "./prompt-text.ts";
import { readCall } from "./read-call.ts";
import { createSecretScanner, type FoundSecret } from "./secret-scanner.ts";

export interface SecretScanOptions {
  /** Kinds of tools that are looked at. @default ["edit", "shell", "web", "mcp", "agent", "other"] before a call, and all kinds after it */
  readonly on?: readonly ScannedKind[];
  /** Milliseconds that looking at one call may take; a call that takes longer is denied. @default 5000 */
  readonly scanMs?: number;
}

export type ScannedKind = "shell" | "read" | "edit" | "web" | "mcp" | "agent" | "other";

const NAME = "secretScan";
const KINDS: readonly ScannedKind[] = ["shell", "read", "edit", "web", "mcp", "agent", "other"];
const CORE = "@secretlint/core";
const RULES = "@secretlint/secretlint-rule-preset-recommend";
const SHOWN_MAX = 5;
const MAJOR = 10;
/** Most text of a call that is looked at, in UTF-16 units; more cannot be judged in time. */
const TEXT_MAX = 4 * 1024 * 1024;

/**
 * A guard for `PreToolUse`, where it denies, and `PostToolUse`, where the model is told. Throws `Error` at once when the optional packages
 * are not installed or have another major version, and `TypeError` for options that cannot be used.
 * @example const scan = secretScan(); // { PreToolUse: [{ hooks: [scan] }], PostToolUse: [{ hooks: [scan] }] }
 */
export function secretScan(options: SecretScanOptions = {}): FunctionEntry {
  checkOptions(NAME, options, ["on", "scanMs"]);
  const scanMs = options.scanMs === undefined ? 5_000 : checkCount(`${NAME}: scanMs`, options.scanMs, 1);
  const on =
    options.on === undefined
      ? undefined
      : new Set<string>(checkStrings(`${NAME}: on`, options.on, { isEmptyFine: false }));
  for (const kind of on ?? [])
    if (!(KINDS as readonly string[]).includes(kind))
      throw optionError(`${NAME}: on`, `kinds of tools (${KINDS.join(", ")})`, kind);
  requirePeers();
  const scanner = createSecretScanner({ rules: RULES, scanMs });
  return {
    type: "function",
    name: NAME,
    handler: async (envelope, { signal }) => {
      const { hook_event_name: event } = envelope;
      const { tool, kind } = readCall(envelope);
      const isAfter = event === "PostToolUse" || event === "PostToolUseFailure";
      if (!isAfter && event !== "PreToolUse" && event !== "PermissionRequest")
        throw new TypeError(
          `${NAME}: ${isEventName(event) ? event : "this event"} carries no tool; declare it on PreToolUse or PostToolUse`,
        );
      if (on === undefined ? !isAfter && kind === "read" : !on.has(kind)) return undefined;
      const field = isAfter ? "tool_response" : "tool_input";
      const what = isAfter ? `what ${tool} gave back` : "the call";
      const texts = textsOf(envelope[field], field);
      const size = texts.reduce((sum, { text }) => sum + text.length, 0);
      if (size > TEXT_MAX)
        return deny(
          envelope,
          `${NAME}: ${what} has ${size} characters of text; at most ${TEXT_MAX} can be looked at`,
        );
      if (texts.length === 0) return undefined;
      const all = await scanner.scan(
        texts.map(({ text }) => text),
        signal,
      );
      if (all === undefined)
        return deny(
          envelope,
          `${NAME}: ${what} could not be looked at within ${scanMs} ms, so it may hold secrets; make it smaller`,
        );
      const secrets = all.filter(isPlausible);
      const secretKeys = new Set(
        secrets.flatMap(({ text }) => (texts[text]?.isKey ? [texts[text].text] : [])),
      );
      if (secrets.length === 0) return undefined;
      const one = new Map(secrets.map((secret) => [`${secret.kind}:${secret.text}:${secret.index}`, secret]));
      const shown = [...one.values()].slice(0, SHOWN_MAX).map(({ kind: secret, text: at, index }) => {
        const { place, text, isKey } = texts[at] as Text;
        const where = showPlace(place, secretKeys);
        return `${secret} in ${isKey ? `a name in ${where}` : `${where} at ${placeOf(text, index)}`}`;
      });
      const more = one.size > SHOWN_MAX ? ` and ${one.size - SHOWN_MAX} more` : "";
      const where = `${shown.join(", ")}${more}`;
      return deny(
        envelope,
        isAfter
          ? `${NAME}: ${what} holds secrets (${where}): do not repeat, store or send them`
          : `${NAME}: ${what} holds secrets (${where}): take them from the environment or a secret store instead`,
      );
    },
  };
}

function requirePeers(): void {
  const { resolve } = createRequire(import.meta.url);
  const install = `npm install ${[CORE, RULES].map((name) => `${name}@${MAJOR}`).join(" ")}`;
  const missing: string[] = [];
  for (const name of [CORE, RULES]) {
    let main: string;
    try {
      main = resolve(name);
    } catch {
      missing.push(name);
      continue;
    }
    const version = versionOf(name, main);
    if (!version.startsWith(`${MAJOR}.`))
      throw new Error(`${NAME}: ${name} is version ${version}, and ${MAJOR} is needed; run: ${install}`);
  }
  if (missing.length > 0)
    throw new Error(`${NAME}: ${missing.join(" and ")} cannot be found; run: ${install}`);
}

/** By the package.json above its main file. */
function versionOf(name: string, main: string): string {
  for (let folder = dirname(main); ; folder = dirname(folder)) {
    try {
      const found: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (isJsonObject(found) && found.name === name) return String(found.version);
    } catch {
      // none here, or none that can be read: the next folder up
    }
    if (folder === dirname(folder)) return "unknown";
  }
}

/** Where something stands: linked upwards, so that depth costs nothing. */
interface Place {
  readonly parent?: Place;
  readonly part: string | number;
}

interface Text {
  readonly place: Place;
  readonly text: string;
  /** It is a name of a field, of the object at `place`. */
  readonly isKey: boolean;
}

/** Every string of a value, names of fields too: whatever stands in a call leaves with it. */
function textsOf(value: unknown, field: string): Text[] {
  const found: Text[] = [];
  const visited = new Set<unknown>();
  const waiting: { value: unknown; place: Place }[] = [{ value, place: { part: field } }];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const { value: seen, place } = one;
    if (typeof seen === "string") found.push({ place, text: seen, isKey: false });
    else if (visited.has(seen)) continue;
    else if (Array.isArray(seen)) {
      visited.add(seen);
      for (let index = seen.length - 1; index >= 0; index--)
        waiting.push({ value: seen[index], place: { parent: place, part: index } });
    } else if (isJsonObject(seen)) {
      visited.add(seen);
      for (const [key, inner] of Object.entries(seen).reverse()) {
        found.push({ place, text: key, isKey: true });
        waiting.push({ value: inner, place: { parent: place, part: key } });
      }
    }
  }
  return found;
}

const NAME_SHOWN_MAX = 40;
const DEPTH_SHOWN_MAX = 12;

/** `tool_input.edits[0].new_string`; a name that is a secret itself is not shown. */
function showPlace(place: Place, hidden: ReadonlySet<string>): string {
  const parts: string[] = [];
  for (let one: Place | undefined = place; one !== undefined; one = one.parent) {
    const { part } = one;
    const shown = typeof part === "string" && (hidden.has(part) || part.length > NAME_SHOWN_MAX) ? "…" : part;
    parts.push(typeof part === "number" ? `[${shown}]` : one.parent === undefined ? `${shown}` : `.${shown}`);
  }
  parts.reverse();
  return parts.length > DEPTH_SHOWN_MAX ? `${parts.slice(0, DEPTH_SHOWN_MAX).join("")}…` : parts.join("");
}

/** Passwords of examples and of databases on the own machine. */
const NO_PASSWORD =
  /^(?:pass(?:word|wd)?|secret|postgres|mysql|root|admin|user(?:name)?|test|guest|example|changeme|placeholder|token|x+|\*+|\.+)$/i;

/** Shapes that stand in ordinary code as well (`Bearer ${token}`, `https://user:password@host`): the value must look like one. */
function isPlausible({ kind, value }: FoundSecret): boolean {
  if (value === undefined) return true;
  if (kind === "url-credentials") {
    const password = /:(.*)@$/s.exec(value)?.[1];
    return password !== undefined && /^(?![$<{%[(*]).{6,}$/.test(password) && !NO_PASSWORD.test(password);
  }
  if (kind !== "bearer" && kind !== "authorization") return true;
  return /^[A-Za-z0-9._~+/=:-]{12,}$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
}
