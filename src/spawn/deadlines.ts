// Every wait of a run, by name, with its default.

import type { Issue } from "../errors.ts";
import { SHUTDOWN_MS } from "../supervisor/live-runs.ts";

/** Every wait of a run, in milliseconds. A hook's own is its entry's `timeout`. Docs: docs/SPAWN.md. */
export interface Deadlines {
  /** Until the provider has shown that our hooks are live. @default 15000 */
  attestMs?: number;
  /** Longest silence on the provider's stdout. @default 900000 (15 min) */
  idleMs?: number | "off";
  /** The whole run. @default 7200000 (2 h) */
  wallMs?: number | "off";
  /** From the provider's last final message to its exit. @default 10000 */
  lingerMs?: number;
  /** From the provider's exit to the end of its output. @default 2000 */
  drainMs?: number;
  /** From the clean stop, or `interrupt`, to SIGTERM; at most `stopMs`. @default half of `stopMs`: 2500 */
  interruptGraceMs?: number;
  /** From the clean stop to KILL. @default 5000 */
  stopMs?: number;
  /** From a signal to this process to KILL, for all of its runs together; the longest of theirs counts. @default 10000 */
  shutdownMs?: number;
  /** The whole chain of `agent_exit`. @default what its hooks' own timeouts come to */
  exitHookMs?: number;
}

export type ResolvedDeadlines = {
  readonly [Name in
    | "attestMs"
    | "lingerMs"
    | "drainMs"
    | "interruptGraceMs"
    | "stopMs"
    | "shutdownMs"]: number;
} & { readonly [Name in "idleMs" | "wallMs" | "exitHookMs"]: number | undefined };

export const DEFAULT_DEADLINES = {
  attestMs: 15_000,
  idleMs: 15 * 60_000,
  wallMs: 2 * 60 * 60_000,
  lingerMs: 10_000,
  drainMs: 2_000,
  interruptGraceMs: 2_500,
  stopMs: 5_000,
  shutdownMs: SHUTDOWN_MS,
} as const;

const NAMES = [...Object.keys(DEFAULT_DEADLINES), "exitHookMs"];

/** Node's timers wrap above this. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export function resolveDeadlines(deadlines: Deadlines = {}): ResolvedDeadlines {
  const merged = { ...DEFAULT_DEADLINES, ...deadlines };
  const off = (value: number | "off") => (value === "off" ? undefined : value);
  return {
    ...merged,
    idleMs: off(merged.idleMs),
    wallMs: off(merged.wallMs),
    interruptGraceMs: deadlines.interruptGraceMs ?? merged.stopMs / 2,
    exitHookMs: deadlines.exitHookMs,
  };
}

/** Problems as `option_invalid` (unknown name) and `deadline_invalid` (value). */
export function checkDeadlines(deadlines: Deadlines): Issue[] {
  const issues: Issue[] = [];
  for (const [name, value] of Object.entries(deadlines)) {
    if (!NAMES.includes(name)) issues.push(unknown(name));
    else if (value === "off" && (name === "idleMs" || name === "wallMs")) continue;
    else if (typeof value !== "number" || !(value > 0) || value > TIMER_MAX_MS) {
      const message = `expected milliseconds, got ${JSON.stringify(value)}`;
      issues.push(invalid(name, message, `more than 0 and at most ${TIMER_MAX_MS}`));
    }
  }
  if (issues.length > 0) return issues;
  const { interruptGraceMs, stopMs } = resolveDeadlines(deadlines);
  if (interruptGraceMs > stopMs) {
    const message = `${interruptGraceMs} ms to SIGTERM is more than the ${stopMs} ms to KILL (stopMs)`;
    issues.push(invalid("interruptGraceMs", message, "SIGTERM comes first"));
  }
  return issues;
}

function unknown(name: string): Issue {
  const path = `deadlines.${name}`;
  return { code: "option_invalid", path, message: "unknown deadline", hint: `known: ${NAMES.join(", ")}` };
}

function invalid(name: string, message: string, hint: string): Issue {
  return { code: "deadline_invalid", path: `deadlines.${name}`, message, hint };
}
