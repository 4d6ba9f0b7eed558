// Answers the hook calls of one run: envelope in, chain, verdict out, receipts beside it. Knows what must end the run.

import { type ChainStep, runChain } from "../broker/chain.ts";
import { closeChainSession, createChainSession } from "../broker/chain-session.ts";
import type { BrokerCall } from "../broker/decide-call.ts";
import type { BrokerAnswer } from "../broker/reply.ts";
import { chainDeadlineMs } from "../compiler/deadlines.ts";
import type { CompiledEntry, HookPlan } from "../compiler/plan.ts";
import { bindCommand } from "../exec/bind-command.ts";
import type { JsonObject } from "../json.ts";
import { nameExit } from "../profile/describe-exit.ts";
import type { Envelope, EnvelopeContext } from "../profile/envelope-types.ts";
import { CANARY_EVENT, capabilityOf, type EventName } from "../profile/events.ts";
import type { Verdict } from "../profile/verdict.ts";
import { fieldSizes, REASON_MAX } from "../receipts/receipt.ts";
import type { ReceiptWriter } from "../receipts/writer.ts";
import { entrySecrets } from "../redaction/declared-secrets.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { denyLeak, redactVerdict } from "../redaction/withhold-secrets.ts";
import type { ProviderAdapter } from "../render/provider.ts";
import { listDifferences } from "../trust/identity.ts";
import type { Attestation } from "./attestation.ts";
import { type CallLedger, createCallLedger } from "./call-ledger.ts";
import { downgradeVerdict } from "./downgrade-verdict.ts";
import { guardMarker } from "./environment.ts";
import type { HookEvent } from "./events.ts";
import type { HookCounts } from "./result.ts";

/** More consecutive `Stop` blocks than this end the run (Dv1-10). */
export const STOP_BLOCK_LIMIT = 8;

const TOO_LATE: Verdict = Object.freeze({ decision: "deny", reason: "the run is being ended" });

export interface HookRuntimeOptions {
  readonly plan: HookPlan;
  readonly adapter: ProviderAdapter;
  readonly context: EnvelopeContext;
  readonly hookEnv: Readonly<Record<string, string>>;
  readonly marker: string;
  /** The supervisor's environment: what an entry's `env:NAME` is read from. */
  readonly env: NodeJS.ProcessEnv;
  /** Undefined before it is made. */
  readonly runDirectory: () => string | undefined;
  readonly receipts: ReceiptWriter;
  readonly redactor: Redactor;
  readonly attestation: Pick<Attestation, "identified">;
  readonly onHook: (event: HookEvent) => void;
  /** The run is being stopped: the agent may be deaf to that, so nothing more is let through. */
  readonly isEnding: () => boolean;
  /** The guard path itself failed or was tampered with: the run must end as `unenforced`. */
  readonly onUnenforced: (reason: string) => void;
  readonly onHookLoop: (reason: string) => void;
}

export interface HookRuntime {
  readonly counts: HookCounts;
  /** What `PreToolUse` chains decided: a tool that is seen to run must have been let through. */
  readonly ledger: CallLedger;
  /** A `UserPromptSubmit` of the main agent was denied. */
  readonly isPromptDenied: boolean;
  answer(event: EventName, envelope: string | JsonObject, call: BrokerCall): Promise<BrokerAnswer>;
  /** Runs the chain of one of our own events. */
  runOwn(event: "agent_prompt" | "agent_exit", envelope: Envelope, signal: AbortSignal): Promise<Verdict>;
  /**
   * Waits for chains that were acknowledged before they ran and for hooks in the background, and ends persistent guards; tells what those said
   * to nobody, and what these left.
   */
  settle(): Promise<void>;
}

export function createHookRuntime(options: HookRuntimeOptions): HookRuntime {
  const { plan, adapter, context, hookEnv, marker, receipts, redactor, attestation } = options;
  const { onHook, isEnding, onUnenforced, onHookLoop } = options;
  const counts: HookCounts = { fired: 0, ran: 0, denied: 0, failed: 0, late: 0 };
  const byEvent = groupByEvent(plan.entries);
  const place = () => ({ env: options.env, runDirectory: options.runDirectory() });
  const acknowledged = new Set<Promise<unknown>>();
  const ledger = createCallLedger();
  const session = createChainSession({ runMarker: guardMarker(marker) });
  const secrets = plan.entries.flatMap((entry) => entrySecrets(entry, options.env));
  let isPromptDenied = false;
  let stopBlocks = 0;

  const noteStep = (event: EventName, callId: number, step: ChainStep) => {
    if (!step.matched) return;
    counts.ran += 1;
    if (step.failed) counts.failed += 1;
    receipts.write({
      kind: "hook",
      event,
      call: callId,
      hook: step.entryId,
      decision: step.decision,
      failed: step.failed,
      exit: nameExit(step.exit),
      duration_ms: Math.round(step.durationMs),
      leftovers: step.leftovers,
      ...(step.background ? { background: true as const } : {}),
      notes: step.notes,
    });
    if (step.changed) onUnenforced(`command_changed: a file of ${step.entryId} is not the one compiled`);
  };

  const decide = async (
    event: EventName,
    envelope: Envelope,
    call: { id: number; signal: AbortSignal },
  ): Promise<Verdict> => {
    const bound = (byEvent.get(event) ?? []).map((entry) => bindCommand(entry, place()));
    // After agent_exit there is nothing in which a hook could still run.
    const entries = event === "agent_exit" ? bound.map((entry) => ({ ...entry, async: false })) : bound;
    const startedAt = performance.now();
    counts.fired += 1;
    const { tool_name: toolName, tool_use_id: toolUseId, agent_id: agentId } = envelope;
    receipts.write({
      kind: "fired",
      event,
      call: call.id,
      fields: fieldSizes(envelope),
      ...(typeof toolName === "string" ? { tool_name: toolName } : {}),
      ...(typeof toolUseId === "string" ? { tool_use_id: toolUseId } : {}),
      ...(typeof agentId === "string" ? { agent_id: agentId } : {}),
    });
    const matched: string[] = [];
    const decided = await runChain({
      event,
      envelope,
      entries,
      cwd: context.cwd,
      hookEnv,
      marker,
      signal: call.signal,
      session,
      deadlineMs: chainDeadlineMs(entries),
      checkFiles: listDifferences,
      onStep: (step) => {
        if (step.matched && !step.background) matched.push(step.entryId);
        noteStep(event, call.id, step);
      },
    });
    const isTooLate = capabilityOf(event).role === "gate" && isEnding();
    const verdict = isTooLate ? TOO_LATE : denyLeak(decided.verdict, envelope, secrets);
    const durationMs = Math.round(performance.now() - startedAt);
    receipts.write({
      kind: "verdict",
      event,
      call: call.id,
      decision: verdict.decision,
      matched,
      duration_ms: durationMs,
      in_time: !call.signal.aborted,
      // Redacted before it is cut: half a secret would not be known as one.
      ...(verdict.decision === "deny" ? { reason: redactor.text(verdict.reason).slice(0, REASON_MAX) } : {}),
    });
    if (verdict.decision === "deny") counts.denied += 1;
    onHook({
      type: "hook",
      event,
      decision: verdict.decision,
      ...(verdict.decision === "deny" ? { reason: redactor.text(verdict.reason) } : {}),
      ...(typeof toolName === "string" ? { toolName } : {}),
      matched,
      durationMs,
    });
    // A failing guard is quoted in its reason, and a server may quote its request: both go to the model.
    return redactVerdict(verdict, redactor);
  };

  const track = (chain: Promise<unknown>) => {
    const tracked = chain.catch((error: unknown) =>
      onUnenforced(`hook_chain_failed: ${redactor.text(String(error))}`),
    );
    acknowledged.add(tracked);
    void tracked.finally(() => acknowledged.delete(tracked));
  };

  const watchLoops = (event: EventName, verdict: Verdict, envelope: Envelope) => {
    const isDenied = verdict.decision === "deny" && verdict !== TOO_LATE;
    if (event === "UserPromptSubmit" && isDenied && envelope.agent_id === undefined) isPromptDenied = true;
    if (event !== "Stop") return;
    stopBlocks = verdict.decision === "deny" ? stopBlocks + 1 : 0;
    if (stopBlocks > STOP_BLOCK_LIMIT)
      onHookLoop(`stop_hook_loop: Stop was blocked ${stopBlocks} times in a row`);
  };

  /** What ran is shown once more after the call (C-44, X-52): it must not be what a guard had rewritten. */
  const checkRewrite = (
    event: EventName,
    { tool_use_id: id, tool_name: tool, tool_input: ran }: Envelope,
  ) => {
    if (typeof id !== "string" || ran === undefined || !ledger.ranOriginal(id, ran)) return;
    const detail = `tool call ${id} (${tool}) ran as the agent asked for it, not as PreToolUse rewrote it`;
    receipts.write({ kind: "fault", fault: "rewrite_ignored", event, detail });
    onUnenforced(`rewrite_ignored: ${detail}`);
  };

  return {
    counts,
    ledger,
    get isPromptDenied() {
      return isPromptDenied;
    },
    async answer(event, sent, { callId, signal }) {
      const envelope = adapter.decodeEnvelope(event, sent, context);
      attestation.identified(event, callId, envelope);
      if (event === "PreToolUse") ledger.ask(envelope);
      if (event === "PostToolUse" || event === "PostToolUseFailure") checkRewrite(event, envelope);
      if (event === CANARY_EVENT && !byEvent.has(event)) {
        // Nobody declared a hook for it: the call itself is all that was wanted, and it is not one of the user's hooks.
        receipts.write({ kind: "canary", event, call: callId, fields: fieldSizes(envelope) });
        return adapter.encodeVerdict(event, { decision: "none" });
      }
      if (!capabilityOf(event).awaited) {
        track(decide(event, envelope, { id: callId, signal: new AbortController().signal }));
        return adapter.encodeVerdict(event, { decision: "none" });
      }
      const wanted = await decide(event, envelope, { id: callId, signal });
      const verdict = downgradeVerdict(wanted, plan.downgrades);
      if (verdict !== wanted) counts.denied += 1;
      const encoded = adapter.encodeVerdict(event, redactVerdict(verdict, redactor));
      // An abandoned chain decided nothing: nobody waited for it any more. A rewrite that the provider could not read was denied.
      if (!signal.aborted && event === "PreToolUse")
        ledger.decide(envelope, encoded.code === 2 ? { decision: "deny", reason: "" } : verdict);
      watchLoops(event, verdict, envelope);
      return encoded;
    },
    runOwn: (event, envelope, signal) => decide(event, envelope, { id: 0, signal }),
    async settle() {
      while (acknowledged.size > 0) await Promise.all(acknowledged);
      for (const { key, leftovers } of await closeChainSession(session)) {
        const message = `${key} had left ${leftovers} process(es) behind when it ended; they were ended`;
        receipts.write({ kind: "warning", code: "guard_leftovers", message });
      }
      const left = session.contexts.splice(0);
      if (left.length === 0) return;
      const message = `${left.length} context(s) of hooks in the background, ${left.join("").length} characters: no event that takes one came after`;
      receipts.write({ kind: "warning", code: "context_undelivered", message });
    },
  };
}

function groupByEvent(entries: readonly CompiledEntry[]): Map<EventName, CompiledEntry[]> {
  const groups = new Map<EventName, CompiledEntry[]>();
  for (const entry of entries) groups.set(entry.event, [...(groups.get(entry.event) ?? []), entry]);
  return groups;
}
