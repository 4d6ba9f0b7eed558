// Plays a case in the rendered form with callbacks, and answers them as the case's `answers` says: shows what the CLI makes of a side that
// hangs, errs, or is gone.

import type { JsonObject } from "../../json.ts";
import type { EventName } from "../../profile/events.ts";
import { callbacks, renderCallbacks } from "../../render/claude/callbacks.ts";
import type { ProviderChild } from "../../spawn/child.ts";
import type { Observation } from "./observation.ts";
import type { PlayOptions } from "./play.ts";
import { playRendered } from "./play-rendered.ts";

const INITIALIZE = "bridle-initialize";
const REASON = "REASON-OF-THE-GUARD";

export function playCallbackForm(options: PlayOptions): Promise<Observation> {
  const { answers = "admits" } = options.item;
  return playRendered(options, {
    transport: "callback",
    async converse(child, plan, control) {
      const hooks = renderCallbacks(plan);
      if (hooks === undefined) throw new Error("the case has no event that goes over callbacks");
      const initialized = new Promise<void>((resolve) => {
        control((payload) => {
          if (isAnswerTo(payload, INITIALIZE)) resolve();
        });
      });
      control((payload) => {
        const message = callbacks.read(payload);
        if (message?.type === "canary") child.stdin.write(`${callbacks.encode(message.requestId, ADMIT)}\n`);
        if (message?.type === "asked") ANSWERS[answers](child, message.requestId, message.event);
      });
      const request = { subtype: "initialize", hooks };
      child.stdin.write(`${JSON.stringify({ type: "control_request", request_id: INITIALIZE, request })}\n`);
      await initialized;
    },
  });
}

function isAnswerTo({ type, response }: JsonObject, id: string): boolean {
  return type === "control_response" && (response as JsonObject | undefined)?.request_id === id;
}

const ADMIT = { code: 0, stdout: "", stderr: "" } as const;

type Answers = NonNullable<PlayOptions["item"]["answers"]>;

const say = (child: ProviderChild, line: string) => child.stdin.write(`${line}\n`);

const respond = (child: ProviderChild, id: string, response: unknown) =>
  say(
    child,
    JSON.stringify({ type: "control_response", response: { subtype: "success", request_id: id, response } }),
  );

const ANSWERS: Readonly<Record<Answers, (child: ProviderChild, id: string, event: EventName) => void>> = {
  admits: (child, id) => void say(child, callbacks.encode(id, ADMIT)),
  denies: (child, id, event) =>
    void respond(child, id, {
      hookSpecificOutput: {
        hookEventName: event,
        permissionDecision: "deny",
        permissionDecisionReason: REASON,
      },
    }),
  never: () => {},
  "with-an-error": (child, id) => void say(child, callbacks.encode(id, { failed: REASON })),
  "with-nothing": (child, id) => void respond(child, id, null),
  "with-nonsense": (child, id, event) =>
    void respond(child, id, { hookSpecificOutput: { hookEventName: event, permissionDecision: "perhaps" } }),
  "ends-the-input": (child) => void child.stdin.end(),
  "ends-both-pipes": (child) => {
    child.stdin.destroy();
    child.stdout.destroy();
  },
};
