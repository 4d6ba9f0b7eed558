// Which events of a host can be declared here, and why another name cannot. Never corrects a name: a hook that never ran is not made live.

import {
  EVENT_NAMES,
  EVENTS,
  type EventCapability,
  type EventName,
  isEventName,
  PROVIDERS,
  type Provider,
  SEAMLESS_EVENTS,
} from "../profile/events.ts";
import { toolKind } from "../profile/tool.ts";

/** Events that codex documents although a run of Bridle cannot see them fire (docs/providers/codex.md X-16). */
const DOCUMENTED_BY_CODEX: readonly string[] = ["PermissionRequest"];

/** Why this event of a file cannot be declared, or undefined when it can. */
export function eventProblem(name: string, provider: Provider): string | undefined {
  if (SEAMLESS_EVENTS.includes(name)) return `event ${name}: this build has no seam for it`;
  if (!isEventName(name)) return describeUnknown(name);
  const event: EventCapability = EVENTS[name];
  if (event.ours === true) return `${name} is an event of Bridle; ${provider} never fires it`;
  const isKnown = event[provider].fires || (provider === "codex" && DOCUMENTED_BY_CODEX.includes(name));
  return isKnown ? undefined : `${provider} has no event ${name}, so this never ran`;
}

export function isKnownEvent(name: string): boolean {
  return isEventName(name) || SEAMLESS_EVENTS.includes(name);
}

function describeUnknown(name: string): string {
  if (PROVIDERS.some((provider) => toolKind(name, provider) !== "other"))
    return `${name} is a tool, not an event; did you mean PreToolUse with matcher ${name}?`;
  const plain = (text: string) => text.toLowerCase().replaceAll(/[_-]/g, "");
  const near = EVENT_NAMES.find((event) => plain(event) === plain(name));
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return `${JSON.stringify(name)} is not an event${hint}`;
}

/** Agents under which a declaration with this event refuses. */
export function unsupportedBy(event: EventName): Provider[] {
  return PROVIDERS.filter((provider) => !EVENTS[event][provider].fires);
}
