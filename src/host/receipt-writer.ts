// Stamps the receipts of one host and hands them to its store, in order. Each receipt that a store fails to take is told as a fault, and the
// first again by `close`: never swallowed, and never a reason for another verdict.

import { randomUUID } from "node:crypto";
import type { ChainStep } from "../broker/chain.ts";
import { asError } from "../message-of.ts";
import { nameExit } from "../profile/describe-exit.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { FailureMode, HookReceipt, HookRecord, HookType, ReceiptStore } from "./receipt.ts";

export type ReceiptSink = ReceiptStore | ((receipt: HookReceipt) => void | Promise<void>);

/** What a receipt says of the hook and of the call, beside the step itself. */
export interface ReceiptOf {
  readonly owner_id: string;
  readonly scope?: string;
  readonly call: number;
  readonly hook_type: HookType;
  readonly failure_mode: FailureMode;
}

export interface HostReceipts {
  register(hook: HookRecord): void;
  write(step: ChainStep, of: ReceiptOf): void;
  /** Waits for all that was written and closes the store. Returns the first error of the store, if any. */
  close(): Promise<Error | undefined>;
}

/** Without a sink nothing is stamped. */
export function createHostReceipts(
  sink: ReceiptSink | undefined,
  redactor: Redactor,
  onError: (error: Error) => void,
): HostReceipts {
  if (sink === undefined) return { register() {}, write() {}, close: async () => undefined };
  const store: ReceiptStore = typeof sink === "function" ? { write: sink } : sink;
  let seq = 0;
  let failure: Error | undefined;
  let waiting: Promise<void> | undefined;

  const fail = (error: unknown) => {
    const told = asError(error);
    failure ??= told;
    onError(told);
  };
  /** At once while the store answers at once; behind what it has not finished otherwise. */
  const hand = (work: () => void | Promise<void>) => {
    if (waiting !== undefined) {
      queue(waiting.then(work));
      return;
    }
    try {
      const done = work();
      if (done !== undefined) queue(done);
    } catch (error) {
      fail(error);
    }
  };
  const queue = (work: Promise<void>) => {
    const queued = work.catch(fail).then(() => {
      if (waiting === queued) waiting = undefined;
    });
    waiting = queued;
  };

  return {
    register(hook) {
      hand(() => store.register?.(hook));
    },
    write(step, of) {
      const receipt = stampReceipt(step, of, seq++, redactor);
      hand(() => store.write(receipt));
    },
    async close() {
      while (waiting !== undefined) await waiting;
      try {
        await store.close?.();
      } catch (error) {
        fail(error);
      }
      return failure && new Error(redactor.text(failure.message), { cause: failure });
    },
  };
}

function stampReceipt(
  { envelope, exit, ...step }: ChainStep,
  of: ReceiptOf,
  seq: number,
  redactor: Redactor,
): HookReceipt {
  const { tool_name: tool, tool_use_id: toolUse, agent_id: agent } = envelope;
  const [note] = step.notes;
  return {
    id: randomUUID(),
    seq,
    owner_id: of.owner_id,
    ...(of.scope === undefined ? {} : { scope: of.scope }),
    run_id: envelope.run_id,
    session_id: envelope.session_id,
    call: of.call,
    event: envelope.hook_event_name,
    hook: step.entryId,
    hook_type: of.hook_type,
    failure_mode: of.failure_mode,
    started_at: new Date(Date.now() - step.durationMs).toISOString(),
    duration_ms: Math.round(step.durationMs * 1000) / 1000,
    status: exit?.kind === "timeout" ? "timed_out" : step.failed ? "failed" : "ok",
    decision: step.decision,
    background: step.background,
    ...(step.asked === undefined ? {} : { asked: step.asked }),
    ...(typeof tool === "string" ? { tool_name: tool } : {}),
    ...(typeof toolUse === "string" ? { tool_use_id: toolUse } : {}),
    ...(typeof agent === "string" ? { agent_id: agent } : {}),
    input_keys: namesOf(Object.keys(envelope)),
    output_keys: namesOf(step.outputKeys).map(redactor.text),
    exit: nameExit(exit),
    notes: step.notes.map(({ code }) => code),
    ...((step.failed || exit?.kind === "timeout") && note !== undefined
      ? { error: redactor.text(note.detail) }
      : {}),
  };
}

/** A hook or a tool may call its fields what it likes: a receipt stays a line. */
const NAMES_MAX = 100;
const NAME_LENGTH_MAX = 100;

function namesOf(keys: readonly string[]): string[] {
  return keys.slice(0, NAMES_MAX).map((key) => key.slice(0, NAME_LENGTH_MAX));
}
