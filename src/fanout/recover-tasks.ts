// What became of the runs that a dead fan-out had left: first each is proven dead, then it is told. A task whose run may still live is
// never given to be started again.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RenderedHooks } from "../compiler/token.ts";
import { sweepMarker } from "../exec/sweep.ts";
import { endedDirectory, journalPath, readJournal } from "../journal/file.ts";
import { type Recovery, recoverRuns } from "../journal/recover.ts";
import { guardMarker, RUN_MARKER } from "../spawn/environment.ts";
import type { TaskOutcome } from "./record.ts";

export interface RecoveredRun {
  readonly runId: string;
  /** `lost` unless the run had been settled before its supervisor died. */
  readonly outcome: TaskOutcome;
  readonly reason: string;
  /** False: something of it may live. */
  readonly isDead: boolean;
  /** For a person. */
  readonly problems: readonly string[];
}

export interface RecoverTasksOptions {
  readonly stateDir: string;
  readonly hooks: readonly RenderedHooks[];
  readonly env: NodeJS.ProcessEnv;
  readonly assumeDead: boolean;
}

/** Somebody else recovers the run: how long that is waited for. Milliseconds. */
const CLAIMED_MS = 30_000;
const LOOK_MS = 250;

export async function recoverTasks(
  runIds: readonly string[],
  options: RecoverTasksOptions,
): Promise<RecoveredRun[]> {
  if (runIds.length === 0) return [];
  const reports = new Map<string, Recovery>();
  let left = runIds;
  for (const until = performance.now() + CLAIMED_MS; ; await delay(LOOK_MS)) {
    for (const report of await recoverRuns({ runIds: left, ...options })) reports.set(report.runId, report);
    left = left.filter(
      (runId) => reports.get(runId)?.state === "claimed" && existsSync(journalPath(options.stateDir, runId)),
    );
    if (left.length === 0 || performance.now() > until) break;
    for (const runId of left) reports.delete(runId);
  }
  return Promise.all(runIds.map((runId) => settle(runId, reports.get(runId) ?? reports.get(""), options)));
}

async function settle(
  runId: string,
  report: Recovery | undefined,
  { stateDir, assumeDead }: RecoverTasksOptions,
): Promise<RecoveredRun> {
  const problems = report?.problems ?? [];
  const doubt = (why: string): RecoveredRun => ({
    runId,
    outcome: "lost",
    reason: `not_proven_dead: ${why}`,
    isDead: false,
    problems,
  });
  const isSettled =
    report === undefined ||
    report.state === "recovered" ||
    report.state === "open" ||
    report.state === "claimed";
  if (!isSettled) return doubt([report.state, ...problems].join(": "));
  // What ran elsewhere cannot be looked at: there the caller's word counts.
  const isTold = assumeDead && report?.extinction?.method === "elsewhere";
  if (report?.extinction?.state === "unproven" && !isTold)
    return doubt(`process(es) ${report.extinction.survivors.join(", ") || "unknown"} may be left`);
  // Nothing was written down of it, or somebody else settled it: then what carries its marker tells.
  const survivors = await sweepRun(runId);
  if (survivors === undefined) return doubt("this system does not show whether a process of it is left");
  if (survivors.length > 0) return doubt(`process(es) ${survivors.join(", ")} are left`);
  const ended = await readEnd(stateDir, runId);
  if (ended !== undefined) return { runId, ...ended, isDead: true, problems };
  if (existsSync(journalPath(stateDir, runId)) && report?.state !== "open")
    return doubt("its record is still open");
  return { runId, outcome: "lost", reason: "the fan-out died while it ran", isDead: true, problems };
}

/** Ends what carries the marker of the run or of its guards. Undefined where there is no /proc. */
async function sweepRun(runId: string): Promise<number[] | undefined> {
  const left: number[] = [];
  for (const value of [runId, guardMarker(runId)]) {
    const { supported, survivors } = await sweepMarker({ name: RUN_MARKER, value, quietLooks: 2 });
    if (!supported) return undefined;
    left.push(...survivors.map(({ pid }) => pid));
  }
  return left;
}

/** How the run's own supervisor had settled it; undefined when it had not. */
async function readEnd(
  stateDir: string,
  runId: string,
): Promise<{ outcome: TaskOutcome; reason: string } | undefined> {
  const found = await readJournal(join(endedDirectory(stateDir), `${runId}.jsonl`));
  if (found === undefined || "problem" in found.record) return undefined;
  const { ended } = found.record;
  if (ended === undefined || ended.by !== "supervisor") return undefined;
  return { outcome: ended.outcome as TaskOutcome, reason: ended.reason };
}
