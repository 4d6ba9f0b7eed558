// Which events the in-process host has an emit site for; every other one is refused when it is loaded.

import type { Issue } from "../errors.ts";
import {
  capabilityOf,
  EVENT_NAMES,
  type EVENTS,
  type EventName,
  isEventName,
  SEAMLESS_EVENTS,
} from "../profile/events.ts";

/** Those with "yes" in the column "host" of the table of events. */
export type HostEventName = {
  [Name in EventName]: (typeof EVENTS)[Name]["host"]["fires"] extends true ? Name : never;
}[EventName];

export const HOST_EVENTS = EVENT_NAMES.filter(
  (event) => capabilityOf(event).host.fires,
) as readonly HostEventName[];

/** `event_unknown` or `event_unsupported`; undefined for an event that the host fires. */
export function unsupportedByHost(event: unknown, path: string): Issue | undefined {
  if (typeof event === "string" && isEventName(event)) {
    if (capabilityOf(event).host.fires) return undefined;
    const message = `the in-process host does not fire ${event}`;
    const hint = "remove it, or compile it with compileAgentHooks for an agent that does";
    return { code: "event_unsupported", path, message, hint };
  }
  if (typeof event === "string" && SEAMLESS_EVENTS.includes(event)) {
    const message = `this build has no seam for ${event}`;
    return { code: "event_unsupported", path, message, hint: "remove it: it would never fire" };
  }
  const message = `${JSON.stringify(event) ?? String(event)} is not an event: there is no seam for it`;
  return { code: "event_unknown", path, message, hint: `known: ${HOST_EVENTS.join(", ")}` };
}
