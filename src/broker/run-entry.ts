// Runs one hook that wants an envelope, whatever its type, and says what came of it. Must never run a guard whose files changed.

import type { CompiledCommand, CompiledEntry, FileIdentity } from "../compiler/plan.ts";
import { HOOK_MARKER } from "../exec/hook-env.ts";
import { STDERR_TAIL_BYTES } from "../exec/persistent/limits.ts";
import { runCommand } from "../exec/run-command.ts";
import { runHandler } from "../exec/run-handler.ts";
import { runHttp } from "../exec/run-http.ts";
import { isJsonObject, parseJsonObject } from "../json.ts";
import { messageOf } from "../message-of.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { capabilityOf } from "../profile/events.ts";
import { interpret } from "../profile/interpret.ts";
import type { HookExit, Interpretation, Note, Verdict } from "../profile/verdict.ts";
import type { ChainSession } from "./chain-session.ts";

/** What running one matched hook came to. */
export interface Outcome extends Interpretation {
  readonly exit?: HookExit;
  readonly durationMs?: number;
  readonly truncated?: boolean;
  readonly changed?: boolean;
  readonly leftovers?: number;
  readonly outputKeys?: readonly string[];
  readonly cause?: unknown;
}

/** Where the hooks of a chain run. */
export interface EntryPlace {
  readonly cwd: string;
  /** From `buildHookEnv`; an entry's own `env` is laid over it. */
  readonly hookEnv: Readonly<Record<string, string>>;
  /** Prefix of the markers; each hook gets its own, so that concurrent chains do not end each other's hooks. */
  readonly marker: string;
  /** Abandons the chain: the running hook is ended and the rest is not run. */
  readonly signal: AbortSignal;
  /** Whose persistent guards are asked. */
  readonly session: Pick<ChainSession, "guards">;
  /** Differences between these files now and as compiled; empty when the same. */
  readonly checkFiles: (files: readonly FileIdentity[]) => Promise<string[]>;
}

let markers = 0;

/** `endsAt`: of the whole chain, on the clock of `performance.now`. */
export async function runEntry(
  entry: CompiledEntry,
  envelope: Envelope,
  endsAt: number,
  place: EntryPlace,
): Promise<Outcome> {
  const { signal } = place;
  if (entry.type === "command") {
    const differences = await differencesOf(entry.files, place.checkFiles);
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
  if (entry.persistent === true) return askGuard(entry, envelope, timeoutMs, place);
  markers += 1;
  const marker = `${place.marker}.${markers}`;
  const run = await runCommand({
    argv: entry.argv,
    argv0: entry.argv0,
    env: { ...environmentOf(entry, place), [HOOK_MARKER]: marker },
    cwd: place.cwd,
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

async function askGuard(
  entry: CompiledCommand,
  envelope: Envelope,
  timeoutMs: number,
  place: EntryPlace,
): Promise<Outcome> {
  const { id, argv, argv0, event, onFailure, grants } = entry;
  const program = { argv, argv0, env: environmentOf(entry, place), cwd: place.cwd };
  const startedAt = performance.now();
  const { signal } = place;
  const answer = await place.session.guards.ask(id, program, envelope, { timeoutMs, signal });
  const { exit, stdout, stderr, leftovers, restarted } = answer;
  const policy = { onFailure, grants, quoteLimit: STDERR_TAIL_BYTES };
  const { notes, ...interpretation } = interpret(exit, stdout, stderr, event, policy);
  const again: Note[] = restarted === undefined ? [] : [{ code: "guard_restarted", detail: restarted }];
  return {
    ...interpretation,
    notes: [...notes, ...again],
    exit,
    durationMs: performance.now() - startedAt,
    leftovers,
    outputKeys: answerKeys(stdout),
  };
}

function environmentOf({ env }: CompiledCommand, { hookEnv }: EntryPlace): Record<string, string> {
  return { ...hookEnv, ...env, ...fixedNames(hookEnv) };
}

/** Names alone, of the fields that an answer holds: what they hold belongs into no receipt. */
function answerKeys(stdout: string): string[] {
  // A BOM is white space to `trim`, and none to JSON.
  const text = stdout.trim();
  const answer = text === "" ? undefined : parseJsonObject(text);
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
  checkFiles: EntryPlace["checkFiles"],
): Promise<string[]> {
  try {
    return await checkFiles(files);
  } catch (error) {
    return [`the guard's files could not be checked: ${messageOf(error)}`];
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
