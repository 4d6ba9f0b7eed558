// Nests the deadlines of one event: provider timeout > shim and broker > sum of the chain's hooks > each hook's own.

import { capabilityOf, type EventName, type Provider } from "../profile/events.ts";
import type { CompiledEntry, EventDeadline } from "./plan.ts";

/** Seconds a hook is given when its entry says nothing. */
export const HOOK_TIMEOUT_SECONDS = 60;
/** Seconds from the first signal to a timed-out hook until it is surely gone and its answer written. */
const HOOK_KILL_SECONDS = 3;
const SHIM_SLACK_SECONDS = 2;
const PROVIDER_SLACK_SECONDS = 5;
/** Seconds for an event without hooks, the canary: nothing runs, but a busy machine may need a while to answer. */
const NO_HOOK_SECONDS = 15;
/** Events whose verdict nobody reads are acknowledged at once; their chain runs in the supervisor. */
const ACKNOWLEDGED: EventDeadline = { shimSeconds: 2, providerSeconds: 3 };

/** Longest time the broker lets the whole chain of an event take, in milliseconds. */
export function chainDeadlineMs(entries: readonly CompiledEntry[]): number {
  return entries.reduce((sum, { timeoutMs }) => sum + timeoutMs + HOOK_KILL_SECONDS * 1000, 0);
}

export function deadlineFor(
  event: EventName,
  provider: Provider,
  entries: readonly CompiledEntry[],
): EventDeadline {
  const capability = capabilityOf(event);
  if (!capability.awaited || capability[provider].capSeconds !== undefined) return ACKNOWLEDGED;
  const chainSeconds = entries.length === 0 ? NO_HOOK_SECONDS : chainDeadlineMs(entries) / 1000;
  const shimSeconds = Math.ceil(chainSeconds) + SHIM_SLACK_SECONDS;
  return { shimSeconds, providerSeconds: shimSeconds + PROVIDER_SLACK_SECONDS };
}
