// Receipts to one row a run, or a session of a host: counts of hooks and of how they ended. Keeps a row each, never the lines.

import { toOneLine } from "../../index.ts";
import { formatTable } from "../format-table.ts";
import type { Entry } from "./entry.ts";

export interface Summary {
  readonly of: Entry["of"];
  readonly run_id: string;
  readonly session_id?: string;
  readonly owner_id?: string;
  /** Of the lines that are meant. */
  readonly first_at: string;
  readonly last_at: string;
  /** Hooks that have run. */
  readonly hooks: number;
  readonly denied: number;
  /** Timeouts too. */
  readonly failed: number;
  /** Of a run that has ended. */
  readonly outcome?: string;
}

interface Counting {
  summary: Summary;
  lines: number;
}

export interface Summaries {
  /** The end of a run is noted also when its line is not meant. */
  add(entry: Entry, told: { isMeant: boolean }): void;
  /** The one with the latest line first. */
  rows(): Summary[];
}

export function createSummaries(): Summaries {
  const counting = new Map<string, Counting>();
  return {
    add(entry, { isMeant }) {
      const { of, runId, sessionId, ownerId, at, line } = entry;
      if (runId === undefined) return;
      const outcome = line.kind === "run_ended" ? { outcome: line.outcome } : {};
      if (!isMeant && line.kind !== "run_ended") return;
      const key = of === "run" ? runId : JSON.stringify([runId, sessionId]);
      const one = counting.get(key) ?? {
        summary: { of, run_id: runId, first_at: at, last_at: at, hooks: 0, denied: 0, failed: 0 },
        lines: 0,
      };
      counting.set(key, one);
      one.summary = {
        ...one.summary,
        ...(sessionId === undefined ? {} : { session_id: sessionId }),
        ...(ownerId === undefined ? {} : { owner_id: ownerId }),
        ...outcome,
      };
      if (!isMeant) return;
      one.lines += 1;
      one.summary = count(one.summary, entry, { isFirst: one.lines === 1 });
    },
    rows() {
      return [...counting.values()]
        .filter(({ lines }) => lines > 0)
        .map(({ summary }) => summary)
        .sort((a, b) => (a.last_at < b.last_at ? 1 : a.last_at > b.last_at ? -1 : 0));
    },
  };
}

function count(summary: Summary, entry: Entry, { isFirst }: { isFirst: boolean }): Summary {
  const { isExecution, decision, status, at } = entry;
  return {
    ...summary,
    first_at: isFirst || at < summary.first_at ? at : summary.first_at,
    last_at: isFirst || at > summary.last_at ? at : summary.last_at,
    hooks: summary.hooks + (isExecution ? 1 : 0),
    denied: summary.denied + (isExecution && decision === "deny" ? 1 : 0),
    failed: summary.failed + (isExecution && status !== "ok" ? 1 : 0),
  };
}

const HEAD = ["RUN", "SESSION", "FIRST", "LAST", "HOOKS", "DENIED", "FAILED", "OUTCOME"];
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Of a UUID: enough to name it. */
const SHOWN = 13;

export function formatSummaries(rows: readonly Summary[]): string[] {
  return formatTable([HEAD, ...rows.map(rowOf)]);
}

function rowOf(row: Summary): string[] {
  const { run_id, session_id = "-", first_at, last_at, hooks, denied, failed, outcome = "-" } = row;
  return [
    shorten(run_id),
    shorten(session_id),
    first_at,
    last_at,
    String(hooks),
    String(denied),
    String(failed),
    outcome,
  ].map(toOneLine);
}

function shorten(id: string): string {
  return UUID.test(id) ? id.slice(0, SHOWN) : id;
}
