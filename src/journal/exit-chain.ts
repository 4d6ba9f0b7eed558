// The agent_exit chain in a journal, and back from it. What was written is enough to run commands again; a function, the address of an http
// hook, the value of a variable and an argument that holds a secret come from a token that holds the same hook.

import { createHash } from "node:crypto";
import type { CompiledEntry, HookPlan } from "../compiler/plan.ts";
import { bindCommand, missingReferences, referenceIn } from "../exec/bind-command.ts";
import type { Where } from "../profile/where.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { ExitHook } from "./record.ts";

/** The chain as the journal keeps it. */
export function describeExitChain(plan: HookPlan, redactor: Redactor): ExitHook[] {
  return exitEntries(plan).map((entry): ExitHook => {
    const { id, type, timeoutMs, onFailure, grants } = entry;
    const base = { id, type, timeoutMs, onFailure, grants };
    if (entry.type !== "command") return { ...base, fingerprint: fingerprintOf(entry, false) };
    const { where } = entry;
    const isSecret = entry.argv.some((word) => redactor.text(word) !== word) || isRedacted(where, redactor);
    return {
      ...base,
      fingerprint: fingerprintOf(entry, isSecret),
      ...(where === undefined || isSecret ? {} : { where }),
      argv: isSecret ? null : [...entry.argv],
      argv0: entry.argv0,
      files: entry.files.map((file) => ({ ...file })),
      envNames: Object.keys(entry.env),
      envReferences: referencesOf(entry.env),
    };
  });
}

function isRedacted(where: Where | undefined, redactor: Redactor): boolean {
  const text = JSON.stringify(where ?? {});
  return redactor.text(text) !== text || JSON.stringify(redactor.json(where ?? {})) !== text;
}

function exitEntries({ entries }: HookPlan): CompiledEntry[] {
  return entries.filter(({ event }) => event === "agent_exit");
}

/** Of a function its name and source text; of an http hook its address and the names of its headers; of a command what it runs, without the values of variables. */
function fingerprintOf(entry: CompiledEntry, isWithoutArguments: boolean): string {
  // `where` only where it is said: journals that were written before there was one stay what they are.
  const narrowed = entry.where === undefined ? [] : [entry.where];
  return createHash("sha256")
    .update(JSON.stringify([entry.type, runsOf(entry, isWithoutArguments), ...narrowed]))
    .digest("hex");
}

function runsOf(entry: CompiledEntry, isWithoutArguments: boolean): unknown[] {
  if (entry.type === "function") return [entry.name, entry.handler.toString()];
  if (entry.type === "http") return [entry.url, Object.keys(entry.headers)];
  return [
    isWithoutArguments ? entry.argv.length : entry.argv,
    entry.files.map(({ path, sha256 }) => [path, sha256]),
    Object.keys(entry.env),
  ];
}

export interface ResolvedChain {
  readonly entries: readonly CompiledEntry[];
  /** Why the chain cannot be run; empty when it can. */
  readonly problems: readonly string[];
}

/** Entries that can be run, from the journal, the plans at hand and the environment; all of them or a reason for each that cannot. */
export function resolveExitChain(
  chain: readonly ExitHook[],
  plans: readonly HookPlan[],
  env: NodeJS.ProcessEnv,
): ResolvedChain {
  const entries: CompiledEntry[] = [];
  const problems: string[] = [];
  const known = plans.flatMap(exitEntries);
  for (const hook of chain) {
    const isWithoutArguments = hook.type === "command" && hook.argv === null;
    const same = known.find(
      (entry) => entry.type === hook.type && fingerprintOf(entry, isWithoutArguments) === hook.fingerprint,
    );
    const entry = same === undefined ? entryOf(hook, env) : boundOf(same, env);
    if (typeof entry === "string") problems.push(`${hook.id} ${entry}`);
    else entries.push({ ...entry, id: hook.id });
  }
  return { entries, problems };
}

/** Variables whose values are read from other variables: the names are no secrets. */
function referencesOf(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => referenceIn(value) !== undefined));
}

/** A token's own entry; what its variables name is read here and now. */
function boundOf(entry: CompiledEntry, env: NodeJS.ProcessEnv): CompiledEntry | string {
  const missing = missingReferences(entry, env);
  if (missing.length > 0) return `needs ${missing.join(", ")}: set them`;
  return bindCommand(entry, { env, runDirectory: undefined });
}

function entryOf(hook: ExitHook, env: NodeJS.ProcessEnv): CompiledEntry | string {
  const { id, type, timeoutMs, onFailure, grants, where, argv, argv0, files = [] } = hook;
  const { envNames = [], envReferences = {} } = hook;
  const withToken = "pass a token with the same hook to recoverRuns";
  if (type === "function") return `is a function: ${withToken}`;
  if (type === "http") return `is an http hook, whose address and headers are not kept: ${withToken}`;
  if (argv === null || argv === undefined)
    return `has an argument or a where with a secret, which is not kept: ${withToken}`;
  const readFrom = (name: string) => referenceIn(envReferences[name] ?? "") ?? name;
  const missing = envNames.map(readFrom).filter((name) => env[name] === undefined);
  if (missing.length > 0)
    return `needs ${missing.join(", ")}, whose values are not kept: set them, or ${withToken}`;
  return {
    id,
    event: "agent_exit",
    matcher: undefined,
    ...(where === undefined ? {} : { where }),
    timeoutMs,
    onFailure,
    grants,
    type,
    argv,
    argv0: argv0 ?? (argv[0] as string),
    env: Object.fromEntries(envNames.map((name) => [name, env[readFrom(name)] as string])),
    files,
  };
}
