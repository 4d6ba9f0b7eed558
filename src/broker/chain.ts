// The hooks of one event, one after another, to one verdict. The first deny ends it. Must never run a guard whose files
// changed, and never admit a gate's action because a hook could not run.

import type { CompiledEntry } from "../compiler/plan.ts";
import { messageOf } from "../message-of.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import { matches } from "../profile/matcher.ts";
import type { HookExit, Note, Verdict } from "../profile/verdict.ts";
import { holds } from "../profile/where.ts";
import type { ChainSession } from "./chain-session.ts";
import { HookExecutionError } from "./hook-execution-error.ts";
import { createRepeats } from "./repeats.ts";
import { type EntryPlace, type Outcome, runEntry } from "./run-entry.ts";
import { createVerdictFold, type DescribeCall, type Said } from "./verdict-fold.ts";

export interface ChainStep {
  readonly entryId: string;
  readonly matched: boolean;
  readonly decision: Verdict["decision"];
  /** `none` when the hook was not run. */
  readonly verdict: Verdict;
  readonly notes: readonly Note[];
  /** The decision is a failure's consequence, not the guard's own word. */
  readonly failed: boolean;
  readonly durationMs: number;
  /** Undefined when the hook was not run. */
  readonly exit: HookExit | undefined;
  readonly truncated: boolean;
  /** A file of the guard differs from the one compiled; the hook was not run, and the run must end. */
  readonly changed: boolean;
  /** Processes the hook left behind, now ended. */
  readonly leftovers: number;
  /** The hook ran beside the chain, which did not wait for it: its decision, if any, decided nothing. */
  readonly background: boolean;
  /** The guard said `ask`, and this is what came of it. */
  readonly asked?: "approved" | "refused" | "nobody_there";
  /** Fields of the answer, at its top and in `hookSpecificOutput`. */
  readonly outputKeys: readonly string[];
  /** The envelope as this hook was given it. */
  readonly envelope: Envelope;
}

/** A guard wants a person to decide. */
export interface Question {
  readonly entryId: string;
  /** The guard's own words. */
  readonly reason: string;
  readonly envelope: Envelope;
}

export interface ChainOptions extends EntryPlace {
  readonly event: EventName;
  readonly envelope: Envelope;
  /** This event's only, in declaration order. */
  readonly entries: readonly CompiledEntry[];
  /** For the whole chain; bounds each hook. */
  readonly deadlineMs: number;
  readonly session: ChainSession;
  /**
   * The caller passes on what is said beside a denial: nothing is kept for later then.
   * @default false: a denial carries no context
   */
  readonly tellsDenied?: boolean;
  /** Answers `ask`; what it throws refuses. Default: nobody is there, and `ask` denies. */
  readonly approve?: (question: Question) => Promise<boolean>;
  /** What a rewritten call is. Default: told from the envelope's provider. */
  readonly describe?: DescribeCall;
  /** Told in the order of the chain; of a hook in the background when it has ended. */
  readonly onStep: (step: ChainStep) => void;
}

export interface ChainResult {
  readonly verdict: Verdict;
  /** Also beside a denial. */
  readonly said: Said;
  readonly steps: readonly ChainStep[];
}

/** Throws `HookExecutionError` alone, for an entry that wants its failures thrown. */
export async function runChain(options: ChainOptions): Promise<ChainResult> {
  const { event, entries, session, signal, deadlineMs, onStep } = options;
  let endsAt = performance.now() + deadlineMs;
  const steps: ChainStep[] = [];
  const fold = createVerdictFold(options.envelope, options.describe);
  const repeats = entries.length > 1 ? createRepeats() : undefined;
  const carried = takeContexts(options);
  if (carried.length > 0) fold.add({ decision: "none", context: carried.join("\n\n") });
  for (const entry of entries) {
    const { envelope } = fold;
    const wanted = wants(entry, envelope, session);
    const matched = wanted && repeats?.(entry, envelope) !== true;
    // Also one that was not asked because its equal was: it has had its once.
    if (wanted && entry.once === true) session.once.add(entry.id);
    if (matched && entry.async === true) {
      runInBackground(entry, envelope, options);
      continue;
    }
    const answered = matched ? await runEntry(entry, envelope, endsAt, options) : undefined;
    // A guard that was cut off has not had its once.
    if (matched && signal.aborted) session.once.delete(entry.id);
    const { outcome, asked, waitedMs = 0 } = await settleQuestion(entry, envelope, answered, options);
    // A person's time is not the hooks'.
    endsAt += waitedMs;
    const step = describeStep(entry, envelope, outcome, asked);
    steps.push(step);
    onStep(step);
    if (outcome?.failed === true && entry.type === "function" && entry.throws === true) {
      session.contexts.unshift(...carried);
      throw new HookExecutionError(entry.id, event, outcome.notes[0]?.detail ?? "", outcome.cause);
    }
    if (outcome?.beside !== undefined) fold.hear(outcome.beside);
    if (outcome !== undefined) fold.add(outcome.verdict);
    if (fold.denied) break;
    if (signal.aborted) {
      if (capabilityOf(event).role === "gate")
        fold.add({ decision: "deny", reason: "the call was abandoned" });
      break;
    }
  }
  // Nobody reads the verdict of an abandoned call, and a denial of a provider carries no context: what hooks in the background said still waits.
  const isLost = signal.aborted || (fold.denied && options.tellsDenied !== true);
  if (isLost) session.contexts.unshift(...carried);
  return { verdict: fold.verdict, said: isLost && !fold.denied ? {} : fold.said, steps };
}

function takeContexts({ event, session }: ChainOptions): string[] {
  return session.contexts.length > 0 && capabilityOf(event).accepts.includes("context")
    ? session.contexts.splice(0)
    : [];
}

/** A matcher that cannot be evaluated wants everything: a guard is rather asked once too often. */
function wants(
  { id, event, matcher, where, once }: CompiledEntry,
  envelope: Envelope,
  session: ChainSession,
): boolean {
  if (once === true && session.once.has(id)) return false;
  try {
    return matches(event, matcher, envelope) && (where === undefined || holds(where, envelope));
  } catch {
    return true;
  }
}

/** Its failures are told like any other; nothing waits for it. */
function runInBackground(entry: CompiledEntry, envelope: Envelope, options: ChainOptions): void {
  const { session, onStep } = options;
  const run = async () => {
    const { signal } = session.abort;
    const outcome = await runEntry(entry, envelope, performance.now() + entry.timeoutMs, {
      ...options,
      signal,
    });
    const { verdict, notes } = outcome;
    const context = verdict.decision === "deny" ? undefined : verdict.context;
    if (context !== undefined) session.contexts.push(context);
    const decided = verdict.decision !== "none" && !outcome.failed;
    const ignored: Note = {
      code: "field_ignored",
      detail: `${verdict.decision} of a hook in the background`,
    };
    const told = { ...outcome, verdict: NO_DECISION, notes: decided ? [...notes, ignored] : notes };
    onStep({ ...describeStep(entry, envelope, told, undefined), background: true });
  };
  const running = run()
    .catch((error: unknown) => {
      // Told like a failure of the hook's own; nobody else hears of it.
      const note: Note = { code: "hook_failed", detail: messageOf(error) };
      const told: Outcome = { verdict: NO_DECISION, notes: [note], failed: true };
      onStep({ ...describeStep(entry, envelope, told, undefined), background: true });
    })
    .finally(() => session.background.delete(running));
  session.background.add(running);
}

const NO_DECISION: Verdict = Object.freeze({ decision: "none" });

/** `ask` denies unless somebody says yes; then the chain goes on, because a guard behind it has not been heard yet. */
async function settleQuestion(
  { id }: CompiledEntry,
  envelope: Envelope,
  outcome: Outcome | undefined,
  { approve, describe }: ChainOptions,
): Promise<{ outcome: Outcome | undefined; asked?: ChainStep["asked"]; waitedMs?: number }> {
  if (outcome?.asked === undefined) return { outcome };
  if (approve === undefined) return { outcome, asked: "nobody_there" };
  const { reason, lifted } = outcome.asked;
  // Whoever is asked sees what the guard would have run.
  const wanted = createVerdictFold(envelope, describe);
  wanted.add(lifted.verdict);
  const askedAt = performance.now();
  let isApproved = false;
  let why = "the guard asked for approval and it was refused";
  try {
    isApproved = (await approve({ entryId: id, reason, envelope: wanted.envelope })) === true;
  } catch (error) {
    why = `the guard asked for approval and none came: ${messageOf(error)}`;
  }
  const waitedMs = performance.now() - askedAt;
  if (!isApproved) {
    const verdict: Verdict = { decision: "deny", reason: `${why}: ${reason}` };
    return { outcome: { ...outcome, verdict }, asked: "refused", waitedMs };
  }
  const { beside: _told, ...rest } = outcome;
  return { outcome: { ...rest, ...lifted }, asked: "approved", waitedMs };
}

function describeStep(
  entry: CompiledEntry,
  envelope: Envelope,
  outcome: Outcome | undefined,
  asked: ChainStep["asked"],
): ChainStep {
  return {
    entryId: entry.id,
    matched: outcome !== undefined,
    decision: outcome?.verdict.decision ?? "none",
    verdict: outcome?.verdict ?? NO_DECISION,
    notes: outcome?.notes ?? [],
    failed: outcome?.failed ?? false,
    durationMs: outcome?.durationMs ?? 0,
    exit: outcome?.exit,
    truncated: outcome?.truncated ?? false,
    changed: outcome?.changed ?? false,
    leftovers: outcome?.leftovers ?? 0,
    background: false,
    ...(asked === undefined ? {} : { asked }),
    outputKeys: outcome?.outputKeys ?? [],
    envelope,
  };
}
