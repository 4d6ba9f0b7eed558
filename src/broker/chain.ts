// The hooks of one event, one after another, to one verdict. The first deny ends it. Must never run a guard whose files
// changed, and never admit a gate's action because a hook could not run.

import type { CompiledEntry, FileIdentity } from "../compiler/plan.ts";
import { HOOK_MARKER } from "../exec/hook-env.ts";
import { runCommand } from "../exec/run-command.ts";
import { runHandler } from "../exec/run-handler.ts";
import { runHttp } from "../exec/run-http.ts";
import { isJsonObject, parseJsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import { interpret } from "../profile/interpret.ts";
import { matches } from "../profile/matcher.ts";
import type { HookExit, Interpretation, Note, Verdict } from "../profile/verdict.ts";
import { holds } from "../profile/where.ts";
import type { ChainSession } from "./chain-session.ts";
import { HookExecutionError } from "./hook-execution-error.ts";
import { createVerdictFold, type DescribeCall } from "./verdict-fold.ts";

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

export interface ChainOptions {
  readonly event: EventName;
  readonly envelope: Envelope;
  /** This event's only, in declaration order. */
  readonly entries: readonly CompiledEntry[];
  readonly cwd: string;
  /** From `buildHookEnv`; an entry's own `env` is laid over it. */
  readonly hookEnv: Readonly<Record<string, string>>;
  /** Prefix of the markers; each hook gets its own, so that concurrent chains do not end each other's hooks. */
  readonly marker: string;
  /** Abandons the chain: the running hook is ended and the rest is not run. */
  readonly signal: AbortSignal;
  /** For the whole chain; bounds each hook. */
  readonly deadlineMs: number;
  /** Differences between these files now and as compiled; empty when the same. */
  readonly checkFiles: (files: readonly FileIdentity[]) => Promise<string[]>;
  readonly session: ChainSession;
  /** Answers `ask`; what it throws refuses. Default: nobody is there, and `ask` denies. */
  readonly approve?: (question: Question) => Promise<boolean>;
  /** What a rewritten call is. Default: told from the envelope's provider. */
  readonly describe?: DescribeCall;
  /** Told in the order of the chain; of a hook in the background when it has ended. */
  readonly onStep: (step: ChainStep) => void;
}

export interface ChainResult {
  readonly verdict: Verdict;
  readonly steps: readonly ChainStep[];
}

/** What running one matched hook came to. */
interface Outcome extends Interpretation {
  readonly exit?: HookExit;
  readonly durationMs?: number;
  readonly truncated?: boolean;
  readonly changed?: boolean;
  readonly leftovers?: number;
  readonly outputKeys?: readonly string[];
  readonly cause?: unknown;
}

let markers = 0;

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
    const matched = wants(entry, envelope, session) && repeats?.(entry, envelope) !== true;
    if (matched && entry.once === true) session.once.add(entry.id);
    if (matched && entry.async === true) {
      runInBackground(entry, envelope, options);
      continue;
    }
    const answered = matched ? await runEntry(entry, envelope, endsAt, options) : undefined;
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
    if (outcome !== undefined) fold.add(outcome.verdict);
    if (fold.denied) break;
    if (signal.aborted) {
      if (capabilityOf(event).role === "gate")
        fold.add({ decision: "deny", reason: "the call was abandoned" });
      break;
    }
  }
  // A denial carries no context, and nobody reads the verdict of an abandoned call: what hooks in the background said still waits.
  if (fold.denied || signal.aborted) session.contexts.unshift(...carried);
  return { verdict: fold.verdict, steps };
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

/**
 * True for an entry that does the same under the same policy as one that ran before it, on the same envelope. After a rewrite it is asked
 * again: what it judged is no longer what would run.
 */
function createRepeats(): (entry: CompiledEntry, envelope: Envelope) => boolean {
  const seen: { readonly entry: CompiledEntry; readonly key: string; readonly envelope: Envelope }[] = [];
  return (entry, envelope) => {
    const key = repeatKey(entry);
    const isSame = (one: CompiledEntry) =>
      one.type !== "function" || entry.type !== "function" || one.handler === entry.handler;
    const isRepeat = seen.some((one) => one.envelope === envelope && one.key === key && isSame(one.entry));
    if (!isRepeat) seen.push({ entry, key, envelope });
    return isRepeat;
  };
}

function repeatKey(entry: CompiledEntry): string {
  const { type, timeoutMs, onFailure, grants, once = false, async: background = false } = entry;
  return JSON.stringify([type, runsOf(entry), timeoutMs, onFailure, grants, once, background]);
}

function runsOf(entry: CompiledEntry): unknown[] {
  if (entry.type === "command") return [entry.argv, entry.env];
  return entry.type === "http" ? [entry.url, entry.headers] : [entry.throws, entry.closesFeedback];
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
  const running = run().finally(() => session.background.delete(running));
  session.background.add(running);
}

const NO_DECISION: Verdict = Object.freeze({ decision: "none" });

/** `ask` denies unless somebody says yes; then the chain goes on, because a guard behind it has not been heard yet. */
async function settleQuestion(
  { id }: CompiledEntry,
  envelope: Envelope,
  outcome: Outcome | undefined,
  { approve }: ChainOptions,
): Promise<{ outcome: Outcome | undefined; asked?: ChainStep["asked"]; waitedMs?: number }> {
  const reason = outcome?.asked;
  if (outcome === undefined || reason === undefined) return { outcome };
  if (approve === undefined) return { outcome, asked: "nobody_there" };
  const askedAt = performance.now();
  let isApproved = false;
  let why = "the guard asked for approval and it was refused";
  try {
    isApproved = (await approve({ entryId: id, reason, envelope })) === true;
  } catch (error) {
    why = `the guard asked for approval and none came: ${error instanceof Error ? error.message : String(error)}`;
  }
  const waitedMs = performance.now() - askedAt;
  if (!isApproved) {
    const verdict: Verdict = { decision: "deny", reason: `${why}: ${reason}` };
    return { outcome: { ...outcome, verdict }, asked: "refused", waitedMs };
  }
  const notes = outcome.notes.filter(({ code }) => code !== "ask_denied");
  return { outcome: { ...outcome, verdict: NO_DECISION, notes }, asked: "approved", waitedMs };
}

async function runEntry(
  entry: CompiledEntry,
  envelope: Envelope,
  endsAt: number,
  options: ChainOptions,
): Promise<Outcome> {
  const { signal } = options;
  if (entry.type === "command") {
    const differences = await differencesOf(entry.files, options.checkFiles);
    if (differences.length > 0) return changedOutcome(entry, differences);
  }
  const timeoutMs = Math.floor(Math.min(entry.timeoutMs, endsAt - performance.now()));
  if (timeoutMs <= 0) {
    // The hooks before used all of the chain's time.
    const exit: HookExit = { kind: "timeout", timeoutMs: 0 };
    return { ...interpret(exit, "", "", entry.event, entry), exit };
  }
  if (entry.type === "function") {
    const { handler } = entry;
    const { exit, stdout, durationMs, cause } = await runHandler({ handler, envelope, timeoutMs, signal });
    const interpretation = interpret(exit, stdout, "", entry.event, entry);
    return { ...interpretation, exit, durationMs, outputKeys: answerKeys(stdout), cause };
  }
  if (entry.type === "http") {
    const { url, headers, onFailure, grants } = entry;
    const body = `${JSON.stringify(envelope)}\n`;
    const { exit, stdout, truncated, durationMs } = await runHttp({ url, headers, body, timeoutMs, signal });
    const policy = { onFailure, grants, stdoutTruncated: truncated };
    const interpretation = interpret(exit, stdout, "", entry.event, policy);
    return { ...interpretation, exit, durationMs, truncated, outputKeys: answerKeys(stdout) };
  }
  markers += 1;
  const marker = `${options.marker}.${markers}`;
  const run = await runCommand({
    argv: entry.argv,
    argv0: entry.argv0,
    env: { ...options.hookEnv, ...entry.env, ...fixedNames(options.hookEnv), [HOOK_MARKER]: marker },
    cwd: options.cwd,
    stdin: `${JSON.stringify(envelope)}\n`,
    timeoutMs,
    marker,
    signal,
  });
  const { onFailure, grants } = entry;
  const { exit, durationMs, leftovers, stdoutTruncated } = run;
  const policy = { onFailure, grants, stdoutTruncated };
  const interpretation = interpret(exit, run.stdout.toString(), run.stderr.toString(), entry.event, policy);
  return {
    ...interpretation,
    exit,
    durationMs,
    leftovers,
    truncated: stdoutTruncated || run.stderrTruncated,
    outputKeys: answerKeys(run.stdout.toString()),
  };
}

/** Names alone, of the fields that an answer holds: what they hold belongs into no receipt. */
function answerKeys(stdout: string): string[] {
  const answer = stdout === "" ? undefined : parseJsonObject(stdout);
  if (answer === undefined) return [];
  const specific = isJsonObject(answer.hookSpecificOutput) ? answer.hookSpecificOutput : {};
  return [...Object.keys(answer), ...Object.keys(specific).map((key) => `hookSpecificOutput.${key}`)];
}

/** Names an entry's own `env` cannot take over. */
function fixedNames(hookEnv: Readonly<Record<string, string>>): Record<string, string> {
  const fixed: Record<string, string> = {};
  for (const name of ["CLAUDE_PROJECT_DIR", "BRIDLE_RUN_ID"]) {
    if (hookEnv[name] !== undefined) fixed[name] = hookEnv[name];
  }
  return fixed;
}

async function differencesOf(
  files: readonly FileIdentity[],
  checkFiles: ChainOptions["checkFiles"],
): Promise<string[]> {
  try {
    return await checkFiles(files);
  } catch (error) {
    return [
      `the guard's files could not be checked: ${error instanceof Error ? error.message : String(error)}`,
    ];
  }
}

function changedOutcome(entry: CompiledEntry, differences: readonly string[]): Outcome {
  const detail = differences.join("; ");
  const notes: Note[] = [{ code: "command_changed", detail }];
  // `on_failure: open` does not reach here: it forgives a failing guard, not another program in its place.
  const isGate = capabilityOf(entry.event).role === "gate";
  const verdict: Verdict = isGate
    ? { decision: "deny", reason: `the guard changed since it was compiled: ${detail}` }
    : { decision: "none" };
  return { verdict, notes, failed: true, changed: true };
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
