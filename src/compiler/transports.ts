// Chooses how the agent asks about each event. Must never choose callbacks for an event that the proof does not speak for, unless the
// caller wanted no proof at all and named them.

import type { Issue } from "../errors.ts";
import type { EventName, Provider } from "../profile/events.ts";
import { adapterFor } from "../render/registry.ts";
import type { ProveState, Transport } from "./plan.ts";

export const TRANSPORTS = ["auto", "callbacks", "shim"] as const;

export interface TransportChoice {
  readonly provider: Provider;
  readonly events: readonly EventName[];
  /** Events of which the proof shows that callbacks hold. */
  readonly proven: readonly EventName[];
  readonly wanted: (typeof TRANSPORTS)[number];
  readonly prove: ProveState;
}

/** The issues are `option_invalid` (a provider without callbacks) and `provider_unproven`. */
export function chooseTransports({ provider, events, proven, wanted, prove }: TransportChoice): {
  transports: Partial<Record<EventName, Transport>>;
  issues: Issue[];
} {
  const able = adapterFor(provider).callbacks?.events ?? [];
  const isUnchecked = wanted === "callbacks" && prove !== "proven";
  const isCallback = (event: EventName) =>
    wanted !== "shim" && able.includes(event) && (isUnchecked || proven.includes(event));
  const issues: Issue[] = [];
  if (wanted === "callbacks" && able.length === 0)
    issues.push({
      code: "option_invalid",
      path: "transport",
      message: `${provider} does not ask over its own pipes`,
      hint: 'use "auto" or "shim"',
    });
  const missing = events.filter((event) => able.includes(event) && !isCallback(event));
  if (wanted === "callbacks" && missing.length > 0)
    issues.push({
      code: "provider_unproven",
      path: "transport",
      message: `the proof does not show that callbacks hold for ${missing.join(", ")}`,
      hint: `see \`bridle prove ${provider}\`, or use "auto"`,
    });
  const transports = Object.fromEntries(
    events.map((event) => [event, isCallback(event) ? "callback" : "shim"] as const),
  );
  return { transports, issues };
}
