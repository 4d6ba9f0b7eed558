// Counts the tool calls of a session and denies what goes beyond. Counts before it admits, in one step: calls at the same time never get
// past the limit together. Counts calls that a later hook denies too.

import type { FunctionEntry } from "../declaration/types.ts";
import { isJsonObject } from "../json.ts";
import { deny } from "../profile/answer.ts";
import { checkCount, checkOptions, optionError } from "./options.ts";
import { readCall } from "./read-call.ts";

export interface BudgetOptions {
  /** Calls of a session, of all tools. @default no limit */
  readonly toolCalls?: number;
  /** Calls of a session by tool name, or by kind as `kind:shell`. @default no limit */
  readonly perTool?: Readonly<Record<string, number>>;
  /** Milliseconds from the first event of a session that this entry sees; later calls are denied. @default no limit */
  readonly wallMs?: number;
  /** What happens beyond a limit. @default "deny" */
  readonly onExceed?: "deny";
}

const NAME = "budget";
/** Sessions that are remembered; the one unused longest is forgotten first, and begins anew if it comes back. */
export const SESSIONS_MAX = 10_000;

interface Spent {
  readonly startedAt: number;
  calls: number;
  readonly perTool: Map<string, number>;
}

/**
 * A guard for `PreToolUse`. The same entry on `SessionStart` starts the clock there, on `SessionEnd` it forgets the session. At least one
 * limit must be given. Throws `TypeError` for options that cannot be used.
 * @example const limit = budget({ toolCalls: 200, perTool: { "kind:web": 10 } });
 */
export function budget(options: BudgetOptions): FunctionEntry {
  checkOptions(NAME, options, ["toolCalls", "perTool", "wallMs", "onExceed"]);
  const { toolCalls, perTool = {}, wallMs, onExceed = "deny" } = options ?? {};
  if (toolCalls !== undefined) checkCount(`${NAME}: toolCalls`, toolCalls, 0);
  if (wallMs !== undefined) checkCount(`${NAME}: wallMs`, wallMs, 0);
  if (!isJsonObject(perTool))
    throw optionError(`${NAME}: perTool`, "an object of tool names and numbers", perTool);
  const limits = Object.entries(perTool).map(
    ([tool, limit]) => [tool, checkCount(`${NAME}: perTool.${tool}`, limit, 0)] as const,
  );
  if (onExceed !== "deny") throw optionError(`${NAME}: onExceed`, '"deny"', onExceed);
  if (toolCalls === undefined && wallMs === undefined && limits.length === 0)
    throw new TypeError(`${NAME}: give at least one of toolCalls, perTool and wallMs`);
  const sessions = createSessions();
  return {
    type: "function",
    name: NAME,
    handler: (envelope) => {
      const { session_id: session, hook_event_name: event } = envelope;
      if (event === "SessionEnd") {
        sessions.drop(session);
        return undefined;
      }
      const spent = sessions.of(session);
      if (event !== "PreToolUse") return undefined;
      const { tool, kind } = readCall(envelope);
      const elapsed = performance.now() - spent.startedAt;
      if (wallMs !== undefined && elapsed >= wallMs)
        return deny(envelope, `${NAME}: ${Math.floor(elapsed)} ms of ${wallMs} ms are spent`);
      if (toolCalls !== undefined && spent.calls >= toolCalls)
        return deny(envelope, `${NAME}: ${spent.calls} of ${toolCalls} tool calls are spent`);
      const own = limits.filter(([name]) => name === tool || name === `kind:${kind}`);
      for (const [name, limit] of own) {
        const used = spent.perTool.get(name) ?? 0;
        if (used >= limit) return deny(envelope, `${NAME}: ${used} of ${limit} calls of ${name} are spent`);
      }
      spent.calls += 1;
      for (const [name] of own) spent.perTool.set(name, (spent.perTool.get(name) ?? 0) + 1);
      return undefined;
    },
  };
}

/** By session id, bounded: a map keeps the order in which keys were put in. */
function createSessions(): { of(id: string): Spent; drop(id: string): void } {
  const sessions = new Map<string, Spent>();
  return {
    of(id) {
      const spent = sessions.get(id) ?? { startedAt: performance.now(), calls: 0, perTool: new Map() };
      sessions.delete(id);
      sessions.set(id, spent);
      if (sessions.size > SESSIONS_MAX) {
        const [oldest] = sessions.keys();
        if (oldest !== undefined) sessions.delete(oldest);
      }
      return spent;
    },
    drop(id) {
      sessions.delete(id);
    },
  };
}
