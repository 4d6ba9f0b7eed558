// What the tests of this folder need of the profile, in one place.

export { EVENT_NAMES, EVENTS, type EventName } from "../../src/profile/events.ts";
export { interpret } from "../../src/profile/interpret.ts";
export type { HookExit, Interpretation } from "../../src/profile/verdict.ts";
