// The declaration as callers write it. It knows no provider.

import type { JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import type { EventName } from "../profile/events.ts";
import type { Where } from "../profile/where.ts";

/** One question to a guard, and what it must answer (docs/SELFTEST.md). */
export interface SelfTest {
  /** The entry's own event, which is the default; any other refuses. */
  event?: EventName;
  /** Laid over a whole envelope of the event; `tool_input` is replaced whole. */
  input: JsonObject;
  /** `allow`: the action goes on. A guard that fails meets none of them. */
  expect: "deny" | "allow" | "rewrite" | "context";
}

/** What every entry may say, whatever it runs. */
export interface EntryTerms {
  /** Seconds, as in both providers' own files. Default 60. */
  timeout?: number;
  /** What a failing guard means on a blocking event. Default `closed` (Dv1-5). */
  on_failure?: "closed" | "open";
  /** Lets an `allow` of this entry grant what the provider's own rules would withhold (Dv1-6). Default false. */
  grants?: boolean;
  /** Runs the first time it is wanted in a run, and never again in that run. Default false. */
  once?: boolean;
  /** Runs in the background: nothing waits for it, so it decides nothing. Default false. */
  async?: boolean;
  /** What this guard must answer. Changes nothing of what runs. */
  selftest?: SelfTest[];
}

export interface CommandEntry extends EntryTerms {
  type: "command";
  /** argv; the program and its arguments, never a shell string. */
  command: string[];
  /** Extra environment for this hook. */
  env?: Record<string, string>;
  /** Started once a run and asked in lines over its stdin and stdout (docs/PERSISTENT.md). Default false. */
  persistent?: boolean;
  /** Where an entry that was not written here came from: `imported:claude` or `imported:codex`. */
  source?: string;
}

export interface HttpEntry extends EntryTerms {
  type: "http";
  /** Absolute; `http:` only to a loopback address. The envelope is sent to it by POST. */
  url: string;
  /** Sent with it. A value `env:NAME` is read from the supervisor's environment when the request is made. */
  headers?: Record<string, string>;
}

/** What a function handler returns: nothing, or the same object a command would print. */
export type HookAnswer = JsonObject | undefined | null;

export interface FunctionEntry extends EntryTerms {
  type: "function";
  handler: (envelope: Envelope, context: { signal: AbortSignal }) => HookAnswer | Promise<HookAnswer>;
  /** Names the handler in receipts and messages. */
  name?: string;
}

export type HookEntry = CommandEntry | FunctionEntry | HttpEntry;

export interface HookGroup {
  /** Omitted, `""`, `"*"`: all. See docs/PROFILE.md. */
  matcher?: string;
  /** Beside the matcher: what the envelope must hold. See docs/PROFILE.md, Where. */
  where?: Where;
  hooks: HookEntry[];
}

/** `{ [event]: [{ matcher?, where?, hooks: [entry] }] }` */
export type HookDeclaration = { [event: string]: HookGroup[] };
