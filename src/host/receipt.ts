// What the in-process host writes down of every hook that ran: names, times and words of a failure; never what was in the envelope or the
// answer.

import type { EventName } from "../profile/events.ts";

export type HookType = "command" | "function" | "http";
export type FailureMode = "open" | "closed" | "error";

/** One execution of one hook. A hook that did not match leaves none. */
export interface HookReceipt {
  /** UUID. */
  readonly id: string;
  /** Of the host, from 0, without a gap, in the order in which hooks ended. */
  readonly seq: number;
  /** Whose execution this is: an opaque word of the caller's. */
  readonly owner_id: string;
  /** Narrower than the owner, where the caller has something narrower. */
  readonly scope?: string;
  /** As in the envelope. */
  readonly run_id: string;
  readonly session_id: string;
  /** Shared by the hooks of one event that was fired; counts from 1. */
  readonly call: number;
  readonly event: EventName;
  /** The hook's id within its host, for example `PreToolUse[0].hooks[1]`. */
  readonly hook: string;
  readonly hook_type: HookType;
  readonly failure_mode: FailureMode;
  /** UTC, ISO 8601. */
  readonly started_at: string;
  readonly duration_ms: number;
  /** `failed` and `timed_out`: what is decided then is the failure mode's word, not the hook's. */
  readonly status: "ok" | "failed" | "timed_out";
  readonly decision: "none" | "allow" | "rewrite" | "deny";
  /** It ran beside the call, which did not wait for it. */
  readonly background: boolean;
  readonly asked?: "approved" | "refused" | "nobody_there";
  readonly tool_name?: string;
  readonly tool_use_id?: string;
  readonly agent_id?: string;
  /** Names of the envelope's fields. */
  readonly input_keys: readonly string[];
  /** Names of the answer's fields; those inside with `hookSpecificOutput.` before them. */
  readonly output_keys: readonly string[];
  /** How it ended: `exit 0`, `answered`, `SIGKILL`, `timeout`, `failed`, `not run`. */
  readonly exit: string;
  /** Codes of what was worth a note, as in docs/PROFILE.md. */
  readonly notes: readonly string[];
  /** Of a failure, redacted. */
  readonly error?: string;
}

/** A hook as a host has registered it. */
export interface HookRecord {
  readonly id: string;
  readonly owner_id: string;
  readonly scope?: string;
  readonly event: EventName;
  readonly type: HookType;
  /** Program or function. Arguments may hold secrets and are not written. */
  readonly name: string;
  readonly matcher?: string;
  readonly priority: number;
  readonly failure_mode: FailureMode;
  readonly registered_at: string;
}

/** Where receipts go. What it throws is told as a fault of the host (`onFault`), and by `close`; hooks are decided regardless. */
export interface ReceiptStore {
  /** Told once for each hook, before its first receipt. */
  register?(hook: HookRecord): void | Promise<void>;
  /** Called once a receipt, in the order of `seq`. */
  write(receipt: HookReceipt): void | Promise<void>;
  /** Waits until all that was written is safe. */
  close?(): void | Promise<void>;
}
