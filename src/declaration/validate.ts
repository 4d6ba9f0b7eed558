// Checks the shape of a declaration and reports every problem at once, each with file, event, group, entry and value.

import { types } from "node:util";
import type { z } from "zod";
import type { Issue, RefusalCode } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { EVENT_NAMES, type EventName, isEventName, SEAMLESS_EVENTS } from "../profile/events.ts";
import { matcherProblem } from "../profile/matcher.ts";
import { whereProblem } from "../profile/where.ts";
import { checkBackground } from "./check-background.ts";
import { checkPersistent } from "./check-persistent.ts";
import { checkSelfTests } from "./check-self-tests.ts";
import { describeMissing, describeMistake, placeOf } from "./describe-mistake.ts";
import { showUrl } from "./http-url.ts";
import { findLiving, type Living } from "./plain-data.ts";
import { entrySchemas, TIMEOUT_MAX_SECONDS } from "./schema.ts";
import type { HookDeclaration, HookEntry } from "./types.ts";

const RESERVED_TYPES = ["prompt", "agent", "mcp_tool"];

/** What a provider's documentation makes one expect, and why it is not here all the same. */
const SEAMLESS_BECAUSE: Readonly<Record<string, string>> = {
  WorktreeCreate:
    "what its hook prints is the path of a worktree that it made, not JSON, so there is no verdict in it",
};

/** Environment names an entry may not set: each would change what runs before the guard does. */
const FORBIDDEN_ENV = /^(?:PATH|HOME|IFS|ENV|BASH_ENV|LD_.*|DYLD_.*|BRIDLE_.*|CLAUDE_PROJECT_DIR)$/;

interface Collector {
  readonly issues: Issue[];
  add(code: RefusalCode, path: string, message: string, hint: string): void;
}

function createCollector(): Collector {
  const issues: Issue[] = [];
  return { issues, add: (code, path, message, hint) => issues.push({ code, path, message, hint }) };
}

export interface ValidDeclaration {
  /** Only what passed; meaningful when `issues` is empty. */
  readonly declaration: HookDeclaration;
  readonly issues: readonly Issue[];
}

/**
 * @param raw what the caller or a file said
 * @param source shown at the head of every path: a file name, or `declaration`
 */
export function validateDeclaration(raw: unknown, source = "declaration"): ValidDeclaration {
  const collector = createCollector();
  if (types.isProxy(raw)) {
    addLiving({ at: "", what: "a Proxy" }, source, collector);
    return { declaration: {}, issues: collector.issues };
  }
  if (!isJsonObject(raw)) {
    collector.add(
      "declaration_invalid",
      source,
      `expected { event: [groups] }, got ${show(raw)}`,
      "see docs/PROFILE.md",
    );
    return { declaration: {}, issues: collector.issues };
  }
  const declaration: HookDeclaration = Object.create(null);
  for (const event of Object.keys(raw)) {
    const at = `${source}: ${event}`;
    if (!checkEventName(event, at, collector)) continue;
    const field = Object.getOwnPropertyDescriptor(raw, event);
    const living =
      field?.get === undefined ? findLiving(field?.value) : { at: "", what: "a getter" as const };
    if (living !== undefined) {
      addLiving(living, at, collector);
      continue;
    }
    const groups: unknown = field?.value;
    if (!Array.isArray(groups)) {
      collector.add(
        "declaration_invalid",
        at,
        `expected a list of groups, got ${show(groups)}`,
        "write [{ matcher?, where?, hooks: [entry] }]",
      );
      continue;
    }
    if (groups.length === 0) {
      collector.add(
        "declaration_invalid",
        at,
        "the list is empty, so nothing would run",
        "add a group or remove the event",
      );
    }
    groups.forEach((group, index) => {
      checkGroup(event as EventName, group, `${at}[${index}]`, collector);
    });
    declaration[event] = groups;
  }
  return { declaration, issues: collector.issues };
}

/** Nothing more is read of what it stands in. */
function addLiving({ at: inner, what }: Living, at: string, { add }: Collector): void {
  const code = /^\[\d+\]\.(?:matcher|where)(?![^.[])/.test(inner) ? "matcher_invalid" : "declaration_invalid";
  const message = `is ${what}: what was checked need not be what runs`;
  add(code, `${at}${inner}`, message, "declare plain objects, lists and values");
}

function checkEventName(event: string, at: string, { add }: Collector): boolean {
  if (isEventName(event)) return true;
  if (SEAMLESS_EVENTS.includes(event)) {
    const why = SEAMLESS_BECAUSE[event];
    const message = `this build has no seam for ${event}${why === undefined ? "" : `: ${why}`}`;
    add("event_unsupported", at, message, "remove it: it would never fire");
    return false;
  }
  const near = findNearEvent(event);
  const hint = near === undefined ? `known: ${EVENT_NAMES.join(", ")}` : `did you mean ${near}?`;
  const looksLikeTool = ["Bash", "Edit", "Write", "Read", "apply_patch"].includes(event);
  add(
    "event_unknown",
    at,
    `${show(event)} is ${looksLikeTool ? "a tool, not an event" : "not an event"}: there is no seam for it`,
    looksLikeTool ? `did you mean PreToolUse with matcher ${event}?` : hint,
  );
  return false;
}

/** In another spelling, or cut short; the shortest of several. */
function findNearEvent(event: string): EventName | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, "");
  const wanted = plain(event);
  const near = EVENT_NAMES.filter(
    (name) => plain(name) === wanted || (wanted.length > 3 && plain(name).startsWith(wanted)),
  );
  return near.toSorted((one, other) => one.length - other.length)[0];
}

function checkGroup(event: EventName, group: unknown, at: string, collector: Collector): void {
  const { add } = collector;
  if (!isJsonObject(group)) {
    add(
      "declaration_invalid",
      at,
      `expected { matcher?, where?, hooks: [entry] }, got ${show(group)}`,
      "wrap the entry in hooks: […]",
    );
    return;
  }
  const { matcher, where, hooks, ...unknown } = group as Record<string, unknown>;
  for (const key of Object.keys(unknown)) {
    const isFlat = key === "command" || key === "type";
    add(
      "declaration_invalid",
      `${at}.${key}`,
      `unknown key ${show(key)} with value ${show(unknown[key])}`,
      isFlat ? "an entry belongs inside hooks: […]" : "a group has matcher, where and hooks",
    );
  }
  if (matcher !== undefined && typeof matcher !== "string") {
    add("matcher_invalid", `${at}.matcher`, `expected a string, got ${show(matcher)}`, "");
  } else {
    const problem = matcherProblem(event, matcher);
    if (problem !== undefined)
      add(
        "matcher_invalid",
        `${at}.matcher`,
        `${show(matcher)}: ${problem}`,
        "RE2 syntax; see docs/PROFILE.md, Matchers",
      );
  }
  const problem = where === undefined ? undefined : whereProblem(where);
  if (problem !== undefined)
    add("matcher_invalid", `${at}.where`, problem.replace(/^: /, ""), "see docs/PROFILE.md, Where");
  if (!Array.isArray(hooks)) {
    const message =
      hooks === undefined ? "hooks is missing" : `expected a list of entries, got ${show(hooks)}`;
    add("declaration_invalid", `${at}.hooks`, message, "write hooks: [entry]");
    return;
  }
  if (hooks.length === 0)
    add(
      "declaration_invalid",
      `${at}.hooks`,
      "the list is empty, so nothing would run",
      "add an entry or remove the group",
    );
  hooks.forEach((entry, index) => {
    checkEntry(event, entry, `${at}.hooks[${index}]`, collector);
  });
}

function checkEntry(event: EventName, entry: unknown, at: string, collector: Collector): void {
  const { add } = collector;
  if (!isJsonObject(entry)) {
    add(
      "declaration_invalid",
      at,
      `expected an entry, got ${show(entry)}`,
      '{ type: "command", command: [argv…] }',
    );
    return;
  }
  const { type, command } = entry as Record<string, unknown>;
  if (type !== "command" && type !== "function" && type !== "http") {
    const known = typeof type === "string" && RESERVED_TYPES.includes(type) ? "reserved" : "unknown";
    add(
      "handler_type_unsupported",
      `${at}.type`,
      type === undefined ? "type is missing" : `handler type ${show(type)} is ${known}`,
      'use "command" or "http", or "function" from TypeScript',
    );
    return;
  }
  if (type === "command" && typeof command === "string") {
    add(
      "command_invalid",
      `${at}.command`,
      `${show(command)} is a shell string`,
      'write argv as a list, for example ["node", "guard.js"]',
    );
    return;
  }
  const result = entrySchemas()[type].safeParse(entry);
  if (result.success) {
    const checked = entry as unknown as HookEntry;
    collector.issues.push(
      ...checkSelfTests(event, checked.selftest ?? [], at),
      ...checkBackground(checked, at),
      ...checkPersistent(event, checked, at),
    );
  } else for (const issue of result.error.issues) addZodIssue(issue, entry, at, collector);
  for (const name of Object.keys(isJsonObject(entry.env) ? entry.env : {})) {
    if (FORBIDDEN_ENV.test(name))
      add(
        "declaration_invalid",
        `${at}.env.${name}`,
        `an entry may not set ${name}`,
        "Bridle sets it, or it would run code before the guard",
      );
  }
}

function addZodIssue(issue: z.core.$ZodIssue, entry: JsonObject, at: string, { add }: Collector): void {
  if (issue.code === "unrecognized_keys") {
    for (const key of issue.keys) {
      const value = valueAt(entry, [...issue.path, key]);
      add(
        "declaration_invalid",
        `${placeOf(issue.path, at)}.${key}`,
        // Under a misspelt "headers" stands what no message may quote.
        `unknown key ${show(key)}${entry.type === "http" ? "" : ` with value ${show(value)}`}`,
        "a misspelt key would be ignored without a word",
      );
    }
    return;
  }
  const where = placeOf(issue.path, at);
  const value = valueAt(entry, issue.path);
  const code: RefusalCode =
    issue.path[0] === "timeout"
      ? "deadline_invalid"
      : issue.path[0] === "command"
        ? "command_invalid"
        : "declaration_invalid";
  const hint =
    code === "deadline_invalid" && typeof value === "number" && value > TIMEOUT_MAX_SECONDS
      ? `seconds, not milliseconds: did you mean ${value / 1000}?`
      : code === "deadline_invalid"
        ? `seconds, more than 0 and at most ${TIMEOUT_MAX_SECONDS}`
        : "";
  const missing = value === undefined ? describeMissing(issue.path) : undefined;
  if (missing !== undefined) add(code, where, missing.message, hint === "" ? missing.hint : hint);
  else add(code, where, `${describeMistake(issue)}${quoteOf(issue, entry, value)}`, hint);
}

/** What was seen, but for what may be secret: a header's value, an address's password and query. */
function quoteOf({ path }: z.core.$ZodIssue, { type }: JsonObject, value: unknown): string {
  if (type === "http" && path[0] === "headers") return "";
  if (type === "http" && path[0] === "url" && typeof value === "string") return `, got ${showUrl(value)}`;
  return `, got ${show(value)}`;
}

function valueAt(entry: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key],
    entry,
  );
}

function show(value: unknown): string {
  if (typeof value === "function") return "a function";
  try {
    const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
    return text.length > 120 ? `${text.slice(0, 120)}…` : text;
  } catch {
    return Object.prototype.toString.call(value); // a cycle or a BigInt: the type's word is enough for a message
  }
}
