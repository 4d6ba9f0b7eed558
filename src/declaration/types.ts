// The declaration as callers write it. It knows no provider.

import type { JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import type { EventName } from "../profile/events.ts";

/** One question to a guard, and what it must answer (docs/SELFTEST.md). */
export interface SelfTest {
  /** The entry's own event, which is the default; any other refuses. */
  event?: EventName;
  /** Laid over a whole envelope of the event; `tool_input` is replaced whole. */
  input: JsonObject;
  /** `allow`: the action goes on. A guard that fails meets none of them. */
  expect: "deny" | "allow" | "rewrite" | "context";
}

export interface CommandEntry {
  type: "command";
  /** argv; the program and its arguments, never a shell string. */
  command: string[];
  /** Seconds, as in both providers' own files. Default 60. */
  timeout?: number;
  /** What a failing guard means on a blocking event. Default `closed` (Dv1-5). */
  on_failure?: "closed" | "open";
  /** Lets an `allow` of this entry grant what the provider's own rules would withhold (Dv1-6). Default false. */
  grants?: boolean;
  /** Extra environment for this hook. */
  env?: Record<string, string>;
  /** Where an entry that was not written here came from: `imported:claude` or `imported:codex`. */
  source?: string;
  /** What this guard must answer. Changes nothing of what runs. */
  selftest?: SelfTest[];
}

/** What a function handler returns: nothing, or the same object a command would print. */
export type HookAnswer = JsonObject | undefined | null;

export interface FunctionEntry {
  type: "function";
  handler: (envelope: Envelope, context: { signal: AbortSignal }) => HookAnswer | Promise<HookAnswer>;
  timeout?: number;
  on_failure?: "closed" | "open";
  grants?: boolean;
  /** Names the handler in receipts and messages. */
  name?: string;
  selftest?: SelfTest[];
}

export type HookEntry = CommandEntry | FunctionEntry;

export interface HookGroup {
  /** Omitted, `""`, `"*"`: all. See docs/PROFILE.md. */
  matcher?: string;
  hooks: HookEntry[];
}

/** `{ [event]: [{ matcher?, hooks: [entry] }] }` */
export type HookDeclaration = { [event: string]: HookGroup[] };
