// bridle ps: the runs that are written down, one line each.

import type { Command } from "commander";
import { type ListedRun, listRuns, toOneLine } from "../index.ts";
import { formatTable } from "./format-table.ts";

interface PsFlags {
  readonly all?: boolean;
  readonly json?: boolean;
}

export function addPsCommand(program: Command): void {
  program
    .command("ps")
    .description("list the runs of this user: running ones, and those whose supervisor is gone")
    .option("--all", "ended runs too, as far as they are kept")
    .option("--json", "one JSON object on stdout")
    .addHelpText("after", "\nExamples:\n  bridle ps\n  bridle ps --all --json")
    .action(async ({ all = false, json = false }: PsFlags) => {
      const runs = await listRuns({ all });
      if (json) process.stdout.write(`${JSON.stringify({ type: "runs", runs })}\n`);
      else
        process.stdout.write(
          formatRuns(runs)
            .map((line) => `${toOneLine(line)}\n`)
            .join(""),
        );
    });
}

const HEAD = ["ID", "STATE", "PROVIDER", "AGE", "HOOKS", "LAST", "CWD"];

/** A table with a head; the last column is not padded. */
export function formatRuns(runs: readonly ListedRun[]): string[] {
  return formatTable([HEAD, ...runs.map(rowOf)]);
}

function rowOf(run: ListedRun): string[] {
  const { runId, state, provider = "-", ageMs, hooks, lastEvent, cwd, problem, outcome } = run;
  return [
    runId === "" ? "-" : runId,
    outcome === undefined ? state : `${state}:${outcome}`,
    provider,
    ageMs === undefined ? "-" : formatAge(ageMs),
    hooks === undefined ? "-" : String(hooks),
    lastEvent?.kind ?? "-",
    problem ?? cwd ?? "-",
  ];
}

function formatAge(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
