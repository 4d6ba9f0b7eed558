// The hooks of one event, one after another, to one verdict. The first deny ends it. Must never run a guard whose files
// changed, and never admit a gate's action because a hook could not run.

import type { CompiledEntry, FileIdentity } from "../compiler/plan.ts";
import { HOOK_MARKER } from "../exec/hook-env.ts";
import { runCommand } from "../exec/run-command.ts";
import { runHandler } from "../exec/run-handler.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import { interpret } from "../profile/interpret.ts";
import { matches } from "../profile/matcher.ts";
import type { HookExit, Interpretation, Note, Verdict } from "../profile/verdict.ts";
import { createVerdictFold } from "./verdict-fold.ts";

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
}

let markers = 0;

export async function runChain(options: ChainOptions): Promise<ChainResult> {
  const { event, entries, signal, deadlineMs, onStep } = options;
  const endsAt = performance.now() + deadlineMs;
  const steps: ChainStep[] = [];
  const fold = createVerdictFold(options.envelope);
  for (const entry of entries) {
    const matched = wants(entry, fold.envelope);
    const outcome = matched ? await runEntry(entry, fold.envelope, endsAt, options) : undefined;
    const step = describeStep(entry, matched, outcome);
    steps.push(step);
    onStep(step);
    if (outcome !== undefined) fold.add(outcome.verdict);
    if (fold.denied) break;
    if (signal.aborted) {
      if (capabilityOf(event).role === "gate")
        fold.add({ decision: "deny", reason: "the call was abandoned" });
      break;
    }
  }
  return { verdict: fold.verdict, steps };
}

/** A matcher that cannot be evaluated wants everything: a guard is rather asked once too often. */
function wants({ event, matcher }: CompiledEntry, envelope: Envelope): boolean {
  try {
    return matches(event, matcher, envelope);
  } catch {
    return true;
  }
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
    const { exit, stdout, durationMs } = await runHandler({
      handler: entry.handler,
      envelope,
      timeoutMs,
      signal,
    });
    return { ...interpret(exit, stdout, "", entry.event, entry), exit, durationMs };
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
  };
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

function describeStep(entry: CompiledEntry, matched: boolean, outcome: Outcome | undefined): ChainStep {
  return {
    entryId: entry.id,
    matched,
    decision: outcome?.verdict.decision ?? "none",
    verdict: outcome?.verdict ?? { decision: "none" },
    notes: outcome?.notes ?? [],
    failed: outcome?.failed ?? false,
    durationMs: outcome?.durationMs ?? 0,
    exit: outcome?.exit,
    truncated: outcome?.truncated ?? false,
    changed: outcome?.changed ?? false,
    leftovers: outcome?.leftovers ?? 0,
  };
}
