// A verdict: what one hook, or a whole chain, decided, in the profile's own terms. Providers' wire forms live in render/.

import type { Json, JsonObject } from "../json.ts";

/** `suppress`: what comes of the action is for the model alone; only a program with its own loop can heed it. */
export type Verdict =
  /** No decision: the provider's own rules decide. */
  | { readonly decision: "none"; readonly context?: string; readonly retry?: true; readonly suppress?: true }
  /** Only from an entry with `grants: true` (Dv1-6). */
  | { readonly decision: "allow"; readonly context?: string; readonly suppress?: true }
  /** Replaces the input whole. `grants` as on allow. */
  | {
      readonly decision: "rewrite";
      readonly updatedInput: JsonObject;
      readonly grants: boolean;
      readonly context?: string;
      readonly suppress?: true;
    }
  /** Gate: the action does not happen. Feedback events: the reason goes to the model (`Stop`: the model goes on). */
  | { readonly decision: "deny"; readonly reason: string };

/** How a hook's run ended, as far as the operating system can tell. */
export type HookExit =
  | { readonly kind: "exit"; readonly code: number }
  | { readonly kind: "signal"; readonly signal: string }
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  /** A persistent guard gave its answer, and lives on. `blocks`: as a command that exits 2. */
  | { readonly kind: "answered"; readonly blocks: boolean }
  /** Could not be started, or a function handler threw. */
  | { readonly kind: "failed"; readonly message: string };

export type NoteCode =
  | "hook_failed"
  | "hook_timeout"
  | "denied_by_exit"
  | "no_structured_output"
  | "output_truncated"
  | "unreadable_output"
  | "unknown_decision"
  | "misplaced_decision"
  | "ask_denied"
  | "allow_not_granted"
  | "field_ignored"
  | "admitted_on_failure"
  | "command_changed"
  | "guard_restarted";

/** Something worth telling about a hook's answer. `detail` may quote the guard's output and must be redacted before it is shown. */
export interface Note {
  readonly code: NoteCode;
  readonly detail: string;
}

export interface Interpretation {
  readonly verdict: Verdict;
  readonly notes: readonly Note[];
  /** True when the verdict is a failure's consequence and not the guard's own word. */
  readonly failed: boolean;
  /** Beside a denial: what the answer holds that only a program with its own loop can pass on. */
  readonly beside?: { readonly context?: string; readonly suppress?: true };
  /** The guard said `ask`. The verdict denies: whoever can ask somebody may lift that. */
  readonly asked?: {
    /** The guard's own words. */
    readonly reason: string;
    /** What it comes to where the answer is yes: its rewrite and context stand. */
    readonly lifted: Interpretation;
  };
}

export interface EntryPolicy {
  readonly onFailure: "closed" | "open";
  readonly grants: boolean;
  /** A failure on a feedback event blocks too. @default false */
  readonly closesFeedback?: boolean;
}

export type { Json };
