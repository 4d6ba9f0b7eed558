// Which events a run delivers, and which its supervision needs to see whatever the caller wants.

import type { HookPlan } from "../compiler/plan.ts";
import type { Provider } from "../profile/events.ts";
import type { Wants } from "../render/provider.ts";
import type { AgentEventBody } from "./events.ts";

export type EventType = AgentEventBody["type"];

/** As a record, so that the compiler misses none. */
const EVENT_TYPES = {
  session: true,
  message: true,
  thinking: true,
  tool_call: true,
  tool_result: true,
  usage: true,
  warning: true,
  hook: true,
  overflow: true,
  raw: true,
  unparsed: true,
  result: true,
} as const satisfies Record<EventType, true>;

/** In the order of docs/SPAWN.md. */
export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventType[];

/** Kept whatever is wanted. */
const ALWAYS: readonly EventType[] = ["result"];

/** @param wanted undefined: all */
export function createEventFilter(wanted: readonly EventType[] | undefined): (type: EventType) => boolean {
  if (wanted === undefined) return () => true;
  const types = new Set([...wanted, ...ALWAYS]);
  return (type) => types.has(type);
}

/** A guarded run is held against what its stream shows of calls: claude's results by id, codex's calls by count (watch-tools.ts). */
const HELD_AGAINST: Readonly<Record<Provider, readonly string[]>> = {
  claude: ["tool_result"],
  codex: ["tool_call", "tool_result"],
};

export function wantsOf(
  { provider, events }: Pick<HookPlan, "provider" | "events">,
  isDelivered: (type: EventType) => boolean,
): Wants {
  const needed = events.includes("PreToolUse") ? HELD_AGAINST[provider] : [];
  return (type) => {
    if (needed.includes(type)) return true;
    return !(type in EVENT_TYPES) || isDelivered(type as EventType);
  };
}
