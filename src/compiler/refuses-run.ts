// What one listed hook means for a run.

import { capabilityOf } from "../profile/events.ts";
import type { ListedHook } from "./resolve-hooks.ts";

/** A gate that does not run refuses the whole declaration. */
export function refusesRun({ event, state }: Pick<ListedHook, "event" | "state">): boolean {
  return state === "refused" || (state === "pending" && capabilityOf(event).role === "gate");
}
