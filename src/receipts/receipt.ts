// The lines of a receipt: what was rendered, preflighted, fired, matched and answered. Field names and sizes, never the values of
// prompts, inputs or outputs.

import type { ProveState } from "../compiler/plan.ts";
import type { EventName, Provider } from "../profile/events.ts";
import type { Note, Verdict } from "../profile/verdict.ts";

export type ReceiptLine =
  | {
      readonly kind: "run_started";
      readonly provider: Provider;
      readonly provider_version: string;
      readonly binary_sha256: string;
      readonly digest: string;
      readonly prove: ProveState;
      /** Digest of the proof that was relied on. */
      readonly proof?: string;
      readonly cwd: string;
      readonly session_id: string;
      readonly prompt_bytes: number;
    }
  | {
      readonly kind: "rendered";
      readonly events: readonly EventName[];
      readonly files: readonly { path: string; mode: string; bytes: number }[];
      readonly env_names: readonly string[];
      readonly dropped_env_names: readonly string[];
    }
  | {
      readonly kind: "preflighted";
      readonly attested: boolean;
      readonly issues: readonly string[];
      readonly foreign_hooks: number;
    }
  /** The canary came, and nobody had declared a hook for its event. */
  | {
      readonly kind: "canary";
      readonly event: EventName;
      readonly call: number;
      readonly fields: Readonly<Record<string, number>>;
    }
  /** A turn of the agent: from a prompt to its final message. `status` is that message's. */
  | {
      readonly kind: "turn";
      /** From 1. */
      readonly turn: number;
      readonly state: "started" | "ended";
      readonly status?: string;
    }
  /** As the agent tells it, whether or not a hook is asked. codex says names and ids of its own here. */
  | { readonly kind: "tool_called"; readonly tool_name: string; readonly tool_use_id?: string }
  | {
      readonly kind: "tool_ended";
      readonly tool_name?: string;
      readonly tool_use_id?: string;
      readonly denied: boolean;
      readonly failed: boolean;
    }
  | {
      readonly kind: "fired";
      readonly event: EventName;
      readonly call: number;
      readonly fields: Readonly<Record<string, number>>;
      readonly tool_name?: string;
      readonly tool_use_id?: string;
      readonly agent_id?: string;
    }
  | {
      readonly kind: "hook";
      readonly event: EventName;
      readonly call: number;
      readonly hook: string;
      readonly decision: Verdict["decision"];
      readonly failed: boolean;
      readonly exit: string;
      readonly duration_ms: number;
      /** Processes the hook left behind; they were ended, and what they would have said is lost. */
      readonly leftovers: number;
      /** Nothing waited for it. */
      readonly background?: true;
      readonly notes: readonly Note[];
    }
  | {
      readonly kind: "verdict";
      readonly event: EventName;
      readonly call: number;
      readonly decision: Verdict["decision"];
      readonly matched: readonly string[];
      readonly duration_ms: number;
      readonly in_time: boolean;
      /** Of a deny: the guard's own words, as the agent is told them; at most `REASON_MAX` of them. */
      readonly reason?: string;
    }
  | { readonly kind: "fault"; readonly fault: string; readonly event?: string; readonly detail: string }
  | { readonly kind: "warning"; readonly code: string; readonly message: string }
  /** What is known about each rendered event, at the end. */
  | {
      readonly kind: "attested";
      readonly canary: "came" | "missing" | "none";
      readonly events: readonly {
        readonly event: EventName;
        readonly rendered: boolean;
        readonly preflighted: boolean;
        readonly fired: number;
        readonly answered: number;
        readonly late: number;
        readonly never: number;
      }[];
    }
  | {
      readonly kind: "run_ended";
      readonly outcome: string;
      readonly reason: string;
      readonly exit_code: number | null;
      readonly signal: string | null;
      readonly duration_ms: number;
      readonly extinction: string;
    };

export type StampedReceipt = ReceiptLine & {
  readonly run_id: string;
  /** From 0, without a gap. */
  readonly seq: number;
  readonly at: string;
  /** Of `run_ended`, the last line: how many there are, itself among them. */
  readonly lines?: number;
  /** Of the line before it; of the first line a hash of the run's id. Lines before version 0.2 have neither. */
  readonly prev?: string;
  /** SHA-256 of the line's bytes before `,"hash"`, in hexadecimal. */
  readonly hash?: string;
};

export type ReceiptSink = (line: StampedReceipt) => void | Promise<void>;

/** In UTF-16 units. */
export const REASON_MAX = 500;

/** Field names of an envelope with the size of each value in characters of its JSON. */
export function fieldSizes(envelope: object): Record<string, number> {
  return Object.fromEntries(
    Object.entries(envelope).map(([name, value]) => [name, JSON.stringify(value)?.length ?? 0]),
  );
}
