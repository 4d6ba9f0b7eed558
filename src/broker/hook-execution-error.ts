// Thrown to whoever asked for it: a hook of the in-process host whose failure mode is `error`.

import type { EventName } from "../profile/events.ts";

export class HookExecutionError extends Error {
  override readonly name = "HookExecutionError";
  readonly hook: string;
  readonly event: EventName;
  readonly detail: string;

  constructor(hook: string, event: EventName, detail: string, cause: unknown) {
    super(`hook ${hook} failed on ${event}: ${detail}`, cause === undefined ? {} : { cause });
    this.hook = hook;
    this.event = event;
    this.detail = detail;
  }
}
