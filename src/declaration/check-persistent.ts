// A persistent guard pays where it is asked again and again. Bridle's own events fire once a run, one before there is anything that could end
// the guard and one after all of them were ended. Pure.

import type { Issue } from "../errors.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import type { HookEntry } from "./types.ts";

/** `at`: the entry. Issues: `declaration_invalid`. */
export function checkPersistent(event: EventName, entry: HookEntry, at: string): Issue[] {
  if (entry.type !== "command" || entry.persistent !== true || capabilityOf(event).ours !== true) return [];
  return [
    {
      code: "declaration_invalid",
      path: `${at}.persistent`,
      message: `${event} fires once a run, so that a persistent guard would be asked once`,
      hint: "remove persistent: the guard is then started for the event, and ended",
    },
  ];
}
