// A host with its receipts in a list, and answers by name.

import {
  createHookHost,
  type HookHost,
  type HookReceipt,
  type HostHook,
  type HostOptions,
} from "../../src/host/index.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import type { EventName } from "../../src/profile/events.ts";

export interface Played {
  readonly host: HookHost;
  readonly receipts: HookReceipt[];
}

export function play(options: HostOptions = {}): Played {
  const receipts: HookReceipt[] = [];
  const host = createHookHost({ receipts: (receipt) => void receipts.push(receipt), ...options });
  return { host, receipts };
}

export const on = (
  event: EventName,
  handler: (envelope: Envelope) => JsonObject | undefined | Promise<JsonObject | undefined>,
  more: Partial<HostHook> = {},
): HostHook => ({ event: event as HostHook["event"], handler, ...more });

/** Registers a tool that notes every input it ran with. */
export function echo(host: HookHost, name = "Echo"): JsonObject[] {
  const ran: JsonObject[] = [];
  host.tools.register({
    name,
    run: (input: JsonObject) => {
      ran.push(structuredClone(input));
      return { echoed: input };
    },
  });
  return ran;
}
