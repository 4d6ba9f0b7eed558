// Asks guards, one at a time and outside of any run: their own self-tests, or for a gate without them the stock cases that its matcher wants.
// Hooks that only follow or watch are not asked unprompted: what they do, they would do.

import type { CompiledEntry } from "../compiler/plan.ts";
import {
  type ListedHook,
  type Loaded,
  type ResolvedHook,
  type ResolveOptions,
  resolveHooks,
} from "../compiler/resolve-hooks.ts";
import type { SelfTest } from "../declaration/types.ts";
import type { JsonObject } from "../json.ts";
import { describeExit } from "../profile/describe-exit.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { capabilityOf, type EventName, type Provider } from "../profile/events.ts";
import { matches } from "../profile/matcher.ts";
import { explainSilence } from "../profile/misread-fields.ts";
import { holds } from "../profile/where.ts";
import { declaredSecrets } from "../redaction/declared-secrets.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { buildEnvelope } from "./build-envelope.ts";
import { type Answer, isExpected, readAnswer } from "./judge-answer.ts";
import { readScripts } from "./read-scripts.ts";
import { STOCK_PROMPT_CASES, STOCK_TOOL_CASES, type StockCase } from "./stock-cases.ts";
import { type TryPlace, tryChain } from "./try-chain.ts";

export interface SelfTestRow {
  /** `selftest[0]`, or the name of a stock case. */
  readonly name: string;
  readonly input: JsonObject;
  /** Undefined for a stock case: nothing is expected of it. */
  readonly expected?: SelfTest["expect"];
  readonly got: Answer;
  readonly passed: boolean;
  readonly reason: string;
  readonly ms: number;
  /** `exit 2`, `killed by SIGKILL`, `not run`. */
  readonly exit: string;
  readonly failed: boolean;
}

/**
 * - `denies`: it denied at least once.
 * - `acts`: its own self-tests show that it rewrites or adds text, as they say it should.
 * - `never_blocked`: a gate that let everything through that it was shown.
 * - `not_shown`: a gate, and no case is for it.
 * - `failed`: a gate that denied nothing and failed.
 * - `no_gate`: its event blocks nothing, or nothing waits for it.
 * - `not_run`: it is not trusted or cannot run.
 */
export type GuardState = "denies" | "acts" | "never_blocked" | "not_shown" | "failed" | "no_gate" | "not_run";

export interface GuardReport extends ListedHook {
  readonly rows: readonly SelfTestRow[];
  readonly blocks: GuardState;
  /** Why it never blocked, or was not run, as far as that can be told. */
  readonly why?: string;
}

export interface SelfTestOptions extends ResolveOptions {
  /** Whose tool names stock envelopes have. @default claude */
  readonly provider?: Provider;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  readonly onGuard?: (report: GuardReport) => void;
}

/** Runs the self-tests of what `loadSettings` or `loadDeclaration` returned. Only hooks that need no trust or have it are started. What they say is redacted. */
export async function testHooks(loaded: Loaded, options: SelfTestOptions = {}): Promise<GuardReport[]> {
  const { hooks, projectRoot, hookPath } = await resolveHooks(loaded, options);
  const { provider, env, signal, onGuard } = options;
  const place = {
    projectRoot,
    hookPath,
    ...(provider === undefined ? {} : { provider }),
    ...(env === undefined ? {} : { env }),
    ...(signal === undefined ? {} : { signal }),
  };
  const from = env ?? process.env;
  const redactor = createRedactor({ env: from, values: declaredSecrets(loaded.declaration, from) });
  const reports: GuardReport[] = [];
  for (const hook of hooks) {
    signal?.throwIfAborted();
    const report = redactor.json(await testGuard(hook, place));
    reports.push(report);
    onGuard?.(report);
  }
  return reports;
}

type Place = TryPlace & { readonly provider?: Provider };

async function testGuard(hook: ResolvedHook, place: Place): Promise<GuardReport> {
  const { compiled, tests, ...listed } = hook;
  const notRun = (why: string): GuardReport => ({ ...listed, rows: [], blocks: "not_run", why });
  if (compiled === undefined) return notRun(listed.problem ?? "it cannot run");
  const rows = tests.length > 0 ? await runOwn(compiled, tests, place) : await runStock(compiled, place);
  const blocks = stateOf(compiled, rows);
  const why = await explain(compiled, rows, blocks);
  return { ...listed, rows, blocks, ...(why === undefined ? {} : { why }) };
}

/** Each row of an entry's own self-tests. */
export async function runOwn(
  entry: CompiledEntry,
  tests: readonly SelfTest[],
  place: Place,
): Promise<SelfTestRow[]> {
  const rows: SelfTestRow[] = [];
  for (const [index, { input, expect }] of tests.entries())
    rows.push(await ask(entry, { name: `selftest[${index}]`, input, expected: expect }, place));
  return rows;
}

async function runStock(entry: CompiledEntry, place: Place): Promise<SelfTestRow[]> {
  const { event } = entry;
  const rows: SelfTestRow[] = [];
  if (entry.async === true) return rows;
  for (const { name, input } of stockCasesOf(event)) {
    const { provider } = place;
    const envelope = buildEnvelope(event, input, { cwd: place.projectRoot, ...(provider && { provider }) });
    if (isWanted(entry, envelope)) rows.push(await ask(entry, { name, input }, place));
  }
  return rows;
}

function isWanted({ event, matcher, where }: CompiledEntry, envelope: Envelope): boolean {
  return matches(event, matcher, envelope) && (where === undefined || holds(where, envelope));
}

function stockCasesOf(event: EventName): readonly StockCase[] {
  const { role, subject, rewrites } = capabilityOf(event);
  // What a model is asked has no form of its own that a stock case could know.
  if (role !== "gate" || rewrites === "model_request") return [];
  return subject === "tool_name" ? STOCK_TOOL_CASES : STOCK_PROMPT_CASES;
}

async function ask(
  entry: CompiledEntry,
  { name, input, expected }: { name: string; input: JsonObject; expected?: SelfTest["expect"] },
  { provider, ...place }: Place,
): Promise<SelfTestRow> {
  const envelope = buildEnvelope(entry.event, input, {
    cwd: place.projectRoot,
    ...(provider && { provider }),
  });
  // In the background it would decide nothing, and what it says would be told with a later event.
  const { steps } = await tryChain([{ ...entry, async: false }], envelope, place);
  place.signal?.throwIfAborted();
  const [step] = steps;
  if (step === undefined) throw new Error(`${entry.id} was not asked`);
  const { got, reason } = readAnswer(step, entry);
  return {
    name,
    input,
    ...(expected === undefined ? {} : { expected }),
    got,
    passed: expected === undefined ? !step.failed : isExpected(expected, step),
    reason,
    ms: Math.round(step.durationMs),
    exit: step.exit === undefined ? "not run" : describeExit(step.exit),
    failed: step.failed,
  };
}

function stateOf({ event, async: isBackground }: CompiledEntry, rows: readonly SelfTestRow[]): GuardState {
  if (isBackground === true) return "no_gate";
  if (rows.some(({ got }) => got === "deny")) return "denies";
  if (capabilityOf(event).role !== "gate") return "no_gate";
  const acts = ({ expected, passed }: SelfTestRow) =>
    passed && (expected === "rewrite" || expected === "context");
  if (rows.some(acts)) return "acts";
  if (rows.some(({ failed }) => failed)) return "failed";
  return rows.length === 0 ? "not_shown" : "never_blocked";
}

async function explain(
  entry: CompiledEntry,
  rows: readonly SelfTestRow[],
  blocks: GuardState,
): Promise<string | undefined> {
  if (blocks === "not_shown")
    return "its matcher or its where wants none of the stock cases: give it a selftest";
  if (blocks !== "never_blocked") return undefined;
  const { event } = entry;
  const text = await wordsOf(entry);
  const isTool = capabilityOf(event).subject === "tool_name";
  const hint = text === undefined ? undefined : explainSilence(text, { isTool });
  if (hint !== undefined) return hint;
  const others = [...new Set(rows.map(({ got }) => got).filter((got) => got !== "allow"))];
  const answered = others.length === 0 ? "" : `; its answers were ${others.join(", ")}`;
  return rows.some(({ expected }) => expected !== undefined)
    ? `none of its self-tests shows it something to deny${answered}`
    : `${text === undefined ? "its words are on a server" : "nothing in its words says why"}${answered}: give it a selftest that shows what it is for`;
}

/** What a guard is made of, as far as it is here. */
async function wordsOf(entry: CompiledEntry): Promise<string | undefined> {
  if (entry.type === "http") return undefined;
  if (entry.type === "function") return entry.handler.toString();
  return [await readScripts(entry.files.map(({ path }) => path)), ...entry.argv.slice(1)].join("\n");
}
