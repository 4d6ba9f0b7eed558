// What a fan-out says, as lines for a person. Pure.

import type { FanOutProgress, TaskEnding } from "../../fanout/index.ts";
import { toOneLine } from "../../index.ts";
import { formatTable } from "../format-table.ts";
import { formatAge } from "./draw.ts";

const LINE_MAX = 300;

/** Undefined for what would only be noise. */
export function describeProgress(progress: FanOutProgress): string | undefined {
  const line = describe(progress);
  if (line === undefined) return undefined;
  return toOneLine(line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line);
}

function describe(progress: FanOutProgress): string | undefined {
  switch (progress.type) {
    case "opened": {
      const { id, tasks, finished, isResumed } = progress;
      return isResumed
        ? `resumed   ${id}: ${finished} of ${tasks} tasks are done`
        : `fan-out   ${id}: ${tasks} tasks`;
    }
    case "recovered":
      return `recovered ${progress.id}: ${progress.outcome}, ${progress.reason}`;
    case "attempt_started":
      return `started   ${progress.id}${progress.attempt > 1 ? ` (try ${progress.attempt})` : ""}`;
    case "attempt_ended": {
      const { id, attempt, retryInMs } = progress;
      if (retryInMs === undefined) return undefined;
      return `again     ${id} in ${formatAge(retryInMs)}: ${attempt.outcome}, ${attempt.reason}`;
    }
    case "task_ended":
      return describeEnding(progress.ending);
    case "admission_stopped":
      return `no more   is started: ${progress.reason}`;
    case "warning":
      return `warning   ${progress.message}`;
    case "event":
      return undefined;
  }
}

function describeEnding({
  id,
  outcome,
  reason,
  attempts,
  denied = 0,
  costUsd,
  worktrees = [],
}: TaskEnding): string {
  const notes = [
    reason,
    ...(attempts > 1 ? [`${attempts} tries`] : []),
    ...(denied > 0 ? [`${denied} denied`] : []),
    ...(costUsd === undefined ? [] : [`$${costUsd.toFixed(4)}`]),
    ...worktrees.map((path) => `work in ${path}`),
  ];
  return `${outcome.padEnd(9)} ${id}: ${notes.join("; ")}`;
}

/** Outcomes with their counts, then what there is to look at. */
export function summarize(endings: readonly TaskEnding[], total: number): string[] {
  const counts = new Map<string, TaskEnding[]>();
  for (const ending of endings) counts.set(ending.outcome, [...(counts.get(ending.outcome) ?? []), ending]);
  const sum = (of: readonly TaskEnding[], name: "costUsd" | "denied" | "attempts") =>
    of.reduce((whole, ending) => whole + (ending[name] ?? 0), 0);
  const row = (name: string, of: readonly TaskEnding[]) => [
    name,
    String(of.length),
    String(sum(of, "attempts")),
    String(sum(of, "denied")),
    `$${sum(of, "costUsd").toFixed(4)}`,
  ];
  const outcomes = [...counts].sort(([, one], [, other]) => other.length - one.length);
  const rows = outcomes.map(([outcome, of]) => row(outcome, of));
  const left = total - endings.length;
  if (left > 0) rows.push(["(not finished)", String(left), "", "", ""]);
  return formatTable([["outcome", "tasks", "starts", "denied", "cost"], ...rows, row("all", endings)]).map(
    (it) => it.trimEnd(),
  );
}
