// One case to its verdict: the run, its control, every expectation held against what was seen.

import { judge } from "./judge.ts";
import type { Check, Observation } from "./observation.ts";
import type { PlayOptions } from "./play.ts";
import { playBare } from "./play-bare.ts";
import { NO_GUARD, playBridled } from "./play-bridled.ts";
import { playCallbackForm } from "./play-callback-form.ts";
import { playHandlerForm } from "./play-handler-form.ts";
import type { MatrixCase } from "./schema.ts";
import { plantFiles, type Stage, setStage } from "./stage.ts";
import { toDeclaration } from "./translate.ts";

/**
 * - `holds`: everything expected was observed, and the control showed that it means something.
 * - `refused`: Bridle refused the run, so nothing happened: loudly absent, and not usable.
 * - `fails`: something else was observed.
 * - `unclear`: the control did not show the side effect, so the case says nothing.
 */
export type CaseVerdict = "holds" | "refused" | "fails" | "unclear";

/** Refusals that speak of the place a case is played in, not of the CLI. */
const SURROUNDINGS: readonly string[] = [
  "run_dir_unsafe",
  "run_dir_unavailable",
  "receipts_unwritable",
  "run_home_unsafe",
  "platform_unsupported",
  "option_invalid",
];

export interface CaseResult {
  readonly id: string;
  readonly column: MatrixCase["column"];
  readonly verdict: CaseVerdict;
  readonly required: boolean;
  /** In words, for the table. */
  readonly observed: string;
  readonly durationMs: number;
  /** A file was there, or was not, against the expectation. */
  readonly hasWrongSideEffect: boolean;
}

export interface RunCaseOptions {
  /** Ends what is running. */
  readonly signal?: AbortSignal | undefined;
  readonly binary: string;
  readonly scratch: string;
  readonly folder: string;
  readonly networkEnv: Readonly<Record<string, string>>;
}

const PLAY: Readonly<Record<MatrixCase["via"], (play: PlayOptions) => Promise<Observation>>> = {
  bridle: (play) => playBridled(play, toDeclaration(play.item, play.stage)),
  handler: playHandlerForm,
  callback: playCallbackForm,
};

export async function runCase(item: MatrixCase, options: RunCaseOptions): Promise<CaseResult> {
  const startedAt = performance.now();
  const result = (verdict: CaseVerdict, observed: string, hasWrongSideEffect = false): CaseResult => ({
    id: item.id,
    column: item.column,
    verdict,
    required: item.required,
    observed,
    durationMs: Math.round(performance.now() - startedAt),
    hasWrongSideEffect,
  });
  let run: Played;
  try {
    run = await onStage(item, options, (play) => PLAY[item.via](play));
  } catch (error) {
    options.signal?.throwIfAborted();
    return result("unclear", `could not be run: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (run.seen.refusal !== undefined && item.expect.refused === undefined) {
    const { codes, message } = run.seen.refusal;
    if (codes.some((code) => SURROUNDINGS.includes(code)))
      return result("unclear", `could not be run: ${message}`);
    return result("refused", `refused: ${[...new Set(codes)].join(", ")}`);
  }
  const broken = run.checks.filter(({ holds }) => !holds);
  if (broken.length > 0) return result("fails", describe(broken), broken.some(isSideEffect));
  const missing = await judgeControl(item, options);
  if (missing.length > 0) return result("unclear", `without the guard: ${describe(missing)}`);
  return result("holds", summarise(item, run.seen));
}

async function judgeControl(item: MatrixCase, options: RunCaseOptions): Promise<readonly Check[]> {
  const { control } = item;
  if (control === undefined) return [];
  const plain: MatrixCase = { ...item, expect: control.expect };
  const { checks } = await onStage(plain, options, async (play) => {
    // The guards' files are there, because the agent may be told to touch them.
    toDeclaration(item, play.stage);
    return control.how === "bare" ? playBare(play) : playBridled(play, NO_GUARD);
  });
  return checks.filter(({ holds }) => !holds);
}

interface Played {
  readonly seen: Observation;
  readonly checks: readonly Check[];
}

async function onStage(
  item: MatrixCase,
  { scratch, ...options }: RunCaseOptions,
  play: (options: PlayOptions) => Promise<Observation>,
): Promise<Played> {
  const stage: Stage = await setStage(scratch);
  try {
    await plantFiles(stage, item.plant);
    const seen = await play({ item, stage, ...options });
    return { seen, checks: judge(item.expect, seen, stage) };
  } finally {
    await stage.remove();
  }
}

function isSideEffect({ what }: Check): boolean {
  return what.startsWith("file ");
}

function describe(checks: readonly Check[]): string {
  return checks.map(({ what, want, got }) => `${what}: wanted ${want}, got ${got}`).join("; ");
}

/** What a case that holds is worth saying in the table. */
function summarise({ kind, expect }: MatrixCase, seen: Observation): string {
  if (expect.refused !== undefined) return `refused: ${expect.refused}`;
  const files = [
    ...(expect.absent ?? []).map((name) => `${name} was not made`),
    ...(expect.present ?? []).map((name) => `${name} was made`),
  ];
  const told = (expect.told ?? []).length > 0 ? ["the model was told"] : [];
  const ended = seen.outcome === undefined || seen.outcome === "ok" ? [] : [seen.outcome];
  return [...files, ...told, ...ended].join(", ") || kind;
}
