// The attempts of a fan-out on one time axis, a row each: whose, from when to when, and what it came to, in words beside the bar. The rows are
// a list that can be read without the drawing.

import type { AttemptRecord, FanOutRecord, TaskRecord } from "../fanout/record.ts";
import { createScale, placeOf, renderGrid, renderTickLabels, type Scale } from "./axis.ts";
import { inWords, type Tone, toneOf } from "./colours.ts";
import { html, type Markup } from "./markup.ts";
import { countOf, formatMs, shorten } from "./words.ts";

/** Rows that are shown at once; the others are in parts that are closed. */
const PART_ROWS = 200;
const NAME_MAX = 60;

export interface GanttRow {
  readonly task: TaskRecord;
  readonly attempt: AttemptRecord;
  readonly startMs: number;
  /** Of one that goes on: until now. */
  readonly endMs: number;
  /** Of the entry of its run on the page. */
  readonly anchor: string | undefined;
  readonly denied: number;
}

export interface Gantt {
  readonly rows: readonly GanttRow[];
  readonly scale: Scale;
}

/** @param anchorOf the id of the entry of a run, where the page has one */
export function layOutGantt(
  { tasks, startedAt }: FanOutRecord,
  nowMs: number,
  of: {
    anchorOf(runId: string): string | undefined;
    deniedOf(attempt: AttemptRecord): number;
  },
): Gantt {
  const from = Date.parse(startedAt);
  const rows = tasks.flatMap((task) =>
    task.attempts.map((attempt): GanttRow => {
      const startMs = Date.parse(attempt.startedAt);
      const endMs = attempt.endedAt === undefined ? Math.max(startMs, nowMs) : Date.parse(attempt.endedAt);
      const anchor = attempt.runId === undefined ? undefined : of.anchorOf(attempt.runId);
      return { task, attempt, startMs, endMs, anchor, denied: of.deniedOf(attempt) };
    }),
  );
  const times = rows.flatMap(({ startMs, endMs }) => [startMs, endMs]).filter(Number.isFinite);
  const last = times.reduce((one, other) => Math.max(one, other), from);
  return { rows, scale: createScale(from, last) };
}

export function renderGantt({ rows, scale }: Gantt): Markup {
  if (rows.length === 0) return html`<p class="quiet">No task has been started.</p>`;
  const parts: Markup[] = [];
  for (let start = PART_ROWS; start < rows.length; start += PART_ROWS) {
    const part = rows.slice(start, start + PART_ROWS);
    parts.push(
      html`<details><summary>${countOf(part.length, "attempt")}, ${start + 1} to ${start + part.length}</summary>${renderRows(part, scale)}</details>\n`,
    );
  }
  return html`${renderRows(rows.slice(0, PART_ROWS), scale)}\n${parts}${rows.some(({ denied }) => denied > 0) ? LEGEND : undefined}`;
}

const LEGEND = html`<ul class="legend" aria-label="Legend"><li><svg viewBox="0 0 20 14" aria-hidden="true"><path class="f-bad" d="M3 7 10 0 17 7 10 14Z"/></svg>something was denied on the way</li></ul>`;

function renderRows(rows: readonly GanttRow[], scale: Scale): Markup {
  return html`<ul class="rows gantt">
<li class="axis" aria-hidden="true"><span></span><svg class="line" height="16">${renderTickLabels(scale, 12)}</svg><span class="end"></span></li>
${rows.map((row) => renderRow(row, scale))}</ul>`;
}

function renderRow({ task, attempt, startMs, endMs, anchor, denied }: GanttRow, scale: Scale): Markup {
  const outcome = attempt.outcome ?? (attempt.endedAt === undefined ? "running" : "no outcome");
  const tone = toneOf(outcome);
  const x = placeOf(scale, startMs);
  const width = Math.max(0.12, Math.round((placeOf(scale, endMs) - x) * 1000) / 1000);
  const name = `${shorten(task.id, NAME_MAX)}${task.attempts.length > 1 ? `, attempt ${attempt.attempt}` : ""}`;
  const shown = anchor === undefined ? html`${name}` : html`<a href="#${anchor}">${name}</a>`;
  const notes = `${formatMs(endMs - startMs)}${denied > 0 ? `, ${denied} denied` : ""}`;
  return html`<li><span>${shown}</span><svg class="line" height="14" aria-hidden="true" data-task="${task.id}" data-attempt="${attempt.attempt}">${renderGrid(scale, 0, 14)}<rect class="bar f-${tone}${tone === "still" ? " soft" : ""}" x="${x}%" y="2" width="${width}%" height="10"/>${denied > 0 ? renderDeniedEnd(placeOf(scale, endMs)) : undefined}</svg><span class="end"><span class="t-${tone}">${inWords(outcome)}</span> <span class="quiet">${notes}</span></span></li>\n`;
}

/** Where it ended, with something denied on the way. */
function renderDeniedEnd(x: number): Markup {
  return html`<svg x="${x}%" y="7" width="1" height="1" overflow="visible" data-mark="bad"><path class="f-bad ring" d="M-7 0 0 -7 7 0 0 7Z"/></svg>`;
}

export interface OutcomeCount {
  readonly outcome: string;
  readonly count: number;
  readonly tone: Tone;
}

/** Most first; tasks that have not finished under their state. */
export function countOutcomes({ tasks }: FanOutRecord): OutcomeCount[] {
  const counts = new Map<string, number>();
  for (const { state, outcome } of tasks) {
    const word = outcome ?? state;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .map(([outcome, count]) => ({ outcome, count, tone: toneOf(outcome) }))
    .sort((one, other) => other.count - one.count || (one.outcome < other.outcome ? -1 : 1));
}

export function renderOutcomes(counts: readonly OutcomeCount[]): Markup {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return html`<p class="quiet">There are no tasks.</p>`;
  return html`<ul class="rows counts">
${counts.map(({ outcome, count, tone }) => {
  const share = (count / total) * 100;
  return html`<li><span class="word t-${tone}">${inWords(outcome)}</span><svg class="line" height="14" aria-hidden="true" data-outcome="${outcome}"><rect class="track" x="0" y="1" width="100%" height="12" rx="2"/><rect class="f-${tone}" x="0" y="1" width="${Math.round(share * 1000) / 1000}%" height="12" stroke="none"/></svg><span class="end">${count} <span class="quiet">(${share < 1 ? "<1" : Math.round(share)} %)</span></span></li>\n`;
})}</ul>`;
}
