// Our hooks as codex takes them on the command line, with the trust entry that lets exactly these run (docs/providers/codex.md
// The bypass flag is never used: it would trust every ambient hook as well.

import { createHash } from "node:crypto";
import type { HookPlan } from "../../compiler/plan.ts";
import type { JsonObject } from "../../json.ts";
import { capabilityOf, type EventName } from "../../profile/events.ts";
import { handlerCommand } from "../handler-form.ts";

/** The literal name codex gives to the layer of `-c` values. */
const SESSION_LAYER = "/<session-flags>/config.toml";

export interface RenderedHook {
  readonly event: EventName;
  readonly key: string;
  readonly command: string;
  readonly timeout: number;
  readonly trustedHash: string;
}

export function snakeCase(event: string): string {
  return event.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}

/** sha256 over the handler's canonical JSON: keys sorted, defaults filled in, compact. Verified against `hooks/list` before each run. */
export function trustHash(
  event: EventName,
  { command, timeout }: { command: string; timeout: number },
): string {
  const canonical = {
    event_name: snakeCase(event),
    hooks: [{ async: false, command, timeout, type: "command" }],
  };
  return `sha256:${createHash("sha256").update(JSON.stringify(canonical)).digest("hex")}`;
}

export function renderHooks(plan: HookPlan, shimPath: string): RenderedHook[] {
  return plan.events.map((event) => {
    const deadline = plan.deadlines[event];
    if (deadline === undefined) throw new Error(`the plan has no deadline for ${event}`);
    const gate = capabilityOf(event).role === "gate";
    // codex runs hooks with the shell of the user's passwd entry.
    const { shimSeconds } = deadline;
    const command = handlerCommand({ shimPath, event, shimSeconds, gate, startsShell: true });
    const timeout = deadline.providerSeconds;
    return {
      event,
      key: `${SESSION_LAYER}:${snakeCase(event)}:0:0`,
      command,
      timeout,
      trustedHash: trustHash(event, { command, timeout }),
    };
  });
}

/** The value of `-c hooks=…`: one handler per event and its trust. */
export function hooksOverride(hooks: readonly RenderedHook[]): JsonObject {
  const table: JsonObject = {};
  const state: JsonObject = {};
  for (const { event, key, command, timeout, trustedHash } of hooks) {
    table[event] = [{ hooks: [{ type: "command", command, timeout }] }];
    state[key] = { trusted_hash: trustedHash };
  }
  return { ...table, state };
}
