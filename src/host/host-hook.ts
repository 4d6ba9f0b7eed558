// A hook that a program registers in its own process, checked and brought into the form that chains run.

import type { CompiledFunction } from "../compiler/plan.ts";
import type { FunctionEntry } from "../declaration/types.ts";
import type { Issue } from "../errors.ts";
import { cloneJson, isJsonObject, type JsonObject } from "../json.ts";
import { capabilityOf } from "../profile/events.ts";
import { matcherProblem } from "../profile/matcher.ts";
import { type Where, whereProblem } from "../profile/where.ts";
import { type HostEventName, unsupportedByHost } from "./host-events.ts";
import type { FailureMode } from "./receipt.ts";

export interface HostHook {
  /** One that the host fires (docs/PROFILE.md, Events, column "host"). */
  event: HostEventName;
  /** Answers like a command's stdout (docs/PROFILE.md, Decisions); `deny`, `ask`, `rewrite` … of `agent-bridle/host` make answers. */
  handler: FunctionEntry["handler"];
  /** Names it in receipts. @default "inProcess[N]" */
  id?: string;
  /** Lower runs earlier; declared hooks have 0. Equal ones run in the order of registration, the declared first. @default 0 */
  priority?: number;
  matcher?: string;
  /** What the envelope must hold. */
  where?: Where;
  /**
   * What a failure means. `open`: it is written down, and the chain goes on. `closed`: the action is denied; on feedback events the failure
   * blocks. `error`: `HookExecutionError` is thrown to whoever fired the event.
   * @default "closed" on gates, "open" elsewhere
   */
  onFailure?: FailureMode;
  /** Milliseconds. @default 60_000 */
  timeoutMs?: number;
  /** Lets an `allow` of this hook grant. @default false */
  grants?: boolean;
  /** Runs once a session. @default false */
  once?: boolean;
  /** Runs in the background: decides nothing, and its context is given with the next event or model call. @default false */
  async?: boolean;
}

/** An entry with its place in the order of hooks. */
export interface OrderedEntry<Entry> {
  readonly entry: Entry;
  readonly priority: number;
  readonly order: number;
}

const KEYS = [
  "event",
  "handler",
  "id",
  "priority",
  "matcher",
  "where",
  "onFailure",
  "timeoutMs",
  "grants",
  "once",
  "async",
];

export const DEFAULT_TIMEOUT_MS = 60_000;

/** Issues name `inProcess[index]` and the field. */
export function checkHostHook(hook: unknown, index: number): CompiledFunction | Issue[] {
  const at = `inProcess[${index}]`;
  if (!isJsonObject(hook)) return [invalid(at, `expected { event, handler, … }, got ${show(hook)}`)];
  const fields: Record<string, unknown> = hook;
  const given = hook as unknown as HostHook;
  const { event, handler, matcher, where, timeoutMs = DEFAULT_TIMEOUT_MS } = given;
  const unsupported = unsupportedByHost(event, `${at}.event`);
  if (unsupported !== undefined) return [unsupported];
  const { role } = capabilityOf(event);
  const { priority = 0, onFailure = role === "gate" ? "closed" : "open" } = given;
  const issues: Issue[] = [];
  const expect = (isRight: boolean, field: string, what: string) => {
    if (!isRight) issues.push(invalid(`${at}.${field}`, `${what}, got ${show(fields[field])}`));
  };
  for (const key of Object.keys(hook)) expect(KEYS.includes(key), key, `unknown key ${key}`);
  expect(typeof handler === "function", "handler", "expected a function");
  expect(
    given.id === undefined || (typeof given.id === "string" && given.id.trim() !== ""),
    "id",
    "expected a name",
  );
  expect(Number.isSafeInteger(priority), "priority", "expected an integer");
  expect(
    typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= 3_600_000,
    "timeoutMs",
    "expected milliseconds, above 0 and at most 3600000",
  );
  expect(["open", "closed", "error"].includes(onFailure), "onFailure", "expected open, closed or error");
  for (const flag of ["grants", "once", "async"] as const)
    expect(given[flag] === undefined || typeof given[flag] === "boolean", flag, "expected true or false");
  expect(
    !(role === "observe" && given.onFailure === "closed"),
    "onFailure",
    `nothing can be stopped on ${event}: expected open or error`,
  );
  if (given.async === true) {
    const message = "a hook in the background decides nothing";
    expect(given.grants !== true, "grants", message);
    expect(given.onFailure === undefined || given.onFailure === "open", "onFailure", message);
  }
  if (matcher !== undefined && typeof matcher !== "string") expect(false, "matcher", "expected a string");
  else add("matcher_invalid", "matcher", matcherProblem(event, matcher));
  if (where !== undefined) add("matcher_invalid", "where", whereProblem(where));
  if (issues.length > 0) return issues;
  return {
    type: "function",
    id: given.id ?? at,
    name: handler.name || given.id || at,
    handler,
    event,
    matcher,
    // A copy: what its caller does to it later must not move a guard.
    ...(where === undefined ? {} : { where: cloneJson(where as JsonObject) }),
    timeoutMs: Math.ceil(timeoutMs),
    onFailure: onFailure === "open" || given.async === true ? "open" : "closed",
    grants: given.grants ?? false,
    ...(onFailure === "error" ? { throws: true } : {}),
    ...(role === "feedback" && onFailure === "closed" ? { closesFeedback: true } : {}),
    ...(given.once === true ? { once: true } : {}),
    ...(given.async === true ? { async: true } : {}),
  };

  function add(code: Issue["code"], field: string, problem: string | undefined) {
    if (problem !== undefined)
      issues.push({ code, path: `${at}.${field}`, message: `${show(fields[field])}: ${problem}`, hint: "" });
  }
}

function show(value: unknown): string {
  return typeof value === "function" ? "a function" : (JSON.stringify(value) ?? String(value)).slice(0, 120);
}

function invalid(path: string, message: string): Issue {
  return { code: "declaration_invalid", path, message, hint: "see docs/HOST.md, Hooks in process" };
}

/** Ascending priority, then order of declaration, then id. */
export function compareOrder(
  one: OrderedEntry<{ readonly id: string }>,
  other: OrderedEntry<{ readonly id: string }>,
): number {
  if (one.priority !== other.priority) return one.priority - other.priority;
  if (one.order !== other.order) return one.order - other.order;
  return one.entry.id < other.entry.id ? -1 : 1;
}
