// The timeline of a run, drawn: turns, tools, hooks, what was denied, what went wrong. Each kind has a lane and a shape of its own, and each
// mark that matters leads to its entry; tables below say the same in words.

import { createScale, placeOf, renderGrid, renderTickLabels, type Scale } from "./axis.ts";
import type { Tone } from "./colours.ts";
import { html, type Markup } from "./markup.ts";
import type { HookCall, RunReport } from "./run-record.ts";
import { countOf, formatMs } from "./words.ts";

interface Span {
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
  readonly isSoft: boolean;
  readonly title: string;
}

interface Lane {
  readonly name: string;
  readonly spans: readonly Span[];
  readonly rows: number;
}

const LABEL_HEIGHT = 18;
const ROW_HEIGHT = 12;
const LANE_GAP = 10;
const MARK_HEIGHT = 20;
/** More marks than these in a lane are drawn merged: neighbours become one. */
const MARKS_MAX = 800;
/** Of a bar, in per cent: a hook of a millisecond is seen all the same. */
const LEAST_WIDTH = 0.12;
/** More marks than these lead nowhere: nobody steps through them with the tab key. */
const LINKS_MAX = 100;

/** The id of the entry of a denial, by its place among the denials. */
export function denialId(prefix: string, index: number): string {
  return `${prefix}denied-${index + 1}`;
}

/** @param prefix of ids, where a page has several runs */
export function renderTimeline(run: RunReport, denials: readonly HookCall[], prefix: string): Markup {
  const scale = createScale(0, run.totalMs);
  const lanes = lanesOf(run, scale);
  const parts: Markup[] = [];
  let y = 0;
  for (const lane of lanes) {
    parts.push(html`<text x="0" y="${y + 12}">${lane.name}</text>`);
    y += LABEL_HEIGHT;
    const { placed, rows } = pack(merge(lane.spans, scale), lane.rows);
    parts.push(html`<rect class="track" x="0" y="${y}" width="100%" height="${rows * ROW_HEIGHT}" rx="2"/>`);
    for (const { span, row } of placed) parts.push(renderSpan(span, scale, y + row * ROW_HEIGHT));
    y += rows * ROW_HEIGHT + LANE_GAP;
  }
  const faults = run.remarks.filter(({ kind }) => kind === "fault");
  parts.push(html`<text x="0" y="${y + 12}">Denied (${denials.length}), faults (${faults.length})</text>`);
  y += LABEL_HEIGHT;
  parts.push(html`<rect class="track" x="0" y="${y}" width="100%" height="${MARK_HEIGHT}" rx="2"/>`);
  const middle = y + MARK_HEIGHT / 2;
  for (const [index, { atMs, event, tool }] of denials.entries()) {
    const title = `Denied: ${tool ?? event} at ${formatMs(atMs)}`;
    const href = denials.length > LINKS_MAX ? undefined : `#${denialId(prefix, index)}`;
    parts.push(renderMark(placeOf(scale, atMs), middle, DIAMOND, "bad", title, href));
  }
  for (const { atMs, code } of faults)
    parts.push(
      renderMark(
        placeOf(scale, atMs),
        middle,
        TRIANGLE,
        "care",
        `Fault: ${code} at ${formatMs(atMs)}`,
        undefined,
      ),
    );
  y += MARK_HEIGHT;
  const name = `Timeline of ${formatMs(run.totalMs)}: ${countOf(run.turns.length, "turn")}, ${countOf(run.tools.length, "tool call")}, ${countOf(run.calls.length, "hook call")}, ${denials.length} denied, ${countOf(faults.length, "fault")}`;
  return html`<figure>
<svg class="timeline" role="group" aria-label="${name}" height="${y + 20}">
${renderGrid(scale, 0, y + 4)}
${parts}
${renderTickLabels(scale, y + 18)}
</svg>
${LEGEND}
</figure>`;
}

function lanesOf(run: RunReport, scale: Scale): Lane[] {
  const end = scale.totalMs;
  const turns = run.turns.map(
    ({ turn, startMs, endMs, status }): Span => ({
      from: startMs,
      to: endMs ?? end,
      tone: "still",
      isSoft: true,
      title: `Turn ${turn}, ${formatMs((endMs ?? end) - startMs)}, ${status ?? "no final message"}`,
    }),
  );
  const tools = run.tools.map(
    ({ name, startMs, endMs, isDenied, isFailed }): Span => ({
      from: startMs,
      to: endMs ?? startMs,
      tone: isDenied ? "bad" : isFailed ? "care" : "work",
      isSoft: isDenied,
      title: `${name} at ${formatMs(startMs)}, ${endMs === undefined ? "no end told" : formatMs(endMs - startMs)}${isDenied ? ", denied" : isFailed ? ", failed" : ""}`,
    }),
  );
  const hooks = run.calls.map(
    ({ event, tool, atMs, durationMs = 0, decision }): Span => ({
      from: atMs,
      to: atMs + durationMs,
      tone: decision === "deny" ? "bad" : "good",
      isSoft: false,
      title: `${event}${tool === undefined ? "" : ` ${tool}`} at ${formatMs(atMs)}, ${formatMs(durationMs)}, ${decision ?? "no verdict"}`,
    }),
  );
  return [
    { name: `Turns (${turns.length})`, spans: turns, rows: 1 },
    { name: `Tools (${tools.length})`, spans: tools, rows: 4 },
    { name: `Hooks (${hooks.length})`, spans: hooks, rows: 3 },
  ];
}

/** Of very many, neighbours closer than a hair and of one tone become one. */
function merge(spans: readonly Span[], { totalMs }: Scale): Span[] {
  const sorted = [...spans].sort((one, other) => one.from - other.from);
  if (sorted.length <= MARKS_MAX) return sorted;
  const hair = totalMs / 1_000;
  const open = new Map<string, Span & { count: number }>();
  const merged: Span[] = [];
  const close = ({ count, ...span }: Span & { count: number }) =>
    merged.push(count === 1 ? span : { ...span, title: `${count} of them from ${formatMs(span.from)}` });
  for (const span of sorted) {
    const key = `${span.tone} ${span.isSoft}`;
    const last = open.get(key);
    if (last !== undefined && span.from - last.to <= hair)
      open.set(key, { ...last, to: Math.max(last.to, span.to), count: last.count + 1 });
    else {
      if (last !== undefined) close(last);
      open.set(key, { ...span, count: 1 });
    }
  }
  for (const last of open.values()) close(last);
  return merged.sort((one, other) => one.from - other.from);
}

/** What happens at the same time stands below one another, as far as there are rows. */
function pack(spans: readonly Span[], most: number): { placed: { span: Span; row: number }[]; rows: number } {
  const ends: number[] = [];
  const placed = spans.map((span) => {
    const free = ends.findIndex((end) => end <= span.from);
    const row = free !== -1 ? free : Math.min(ends.length, most - 1);
    ends[row] = Math.max(ends[row] ?? 0, span.to);
    return { span, row };
  });
  return { placed, rows: Math.max(1, ends.length) };
}

function renderSpan({ from, to, tone, isSoft, title }: Span, scale: Scale, y: number): Markup {
  const x = placeOf(scale, from);
  const width = Math.max(LEAST_WIDTH, Math.round((placeOf(scale, to) - x) * 1000) / 1000);
  return html`<rect class="bar f-${tone}${isSoft ? " soft" : ""}" x="${x}%" y="${y + 1.5}" width="${width}%" height="${ROW_HEIGHT - 3}"><title>${title}</title></rect>\n`;
}

/** Around 0,0; a cross is cut out of the diamond, so that it is no mere dot. */
const DIAMOND = "M-7.5 0 0 -7.5 7.5 0 0 7.5Z";
const TRIANGLE = "M-7 6 0 -6.5 7 6Z";

function renderMark(
  x: number,
  y: number,
  shape: string,
  tone: Tone,
  title: string,
  href: string | undefined,
): Markup {
  const path = html`<path class="f-${tone} ring" d="${shape}"><title>${title}</title></path>`;
  const mark = html`<svg x="${x}%" y="${y}" width="1" height="1" overflow="visible" data-mark="${tone}">${
    href === undefined ? path : html`<a href="${href}" aria-label="${title}">${path}</a>`
  }</svg>\n`;
  return mark;
}

function legendEntry(name: string, drawing: Markup): Markup {
  return html`<li><svg viewBox="0 0 20 14" aria-hidden="true">${drawing}</svg>${name}</li>\n`;
}

const bar = (classes: string) => html`<rect class="bar ${classes}" x="1" y="3" width="18" height="8"/>`;
const mark = (tone: Tone, shape: string) =>
  html`<g transform="translate(10 7) scale(.85)"><path class="f-${tone}" d="${shape}"/></g>`;

const LEGEND = html`<ul class="legend" aria-label="Legend">
${[
  legendEntry("a turn", bar("f-still soft")),
  legendEntry("a tool at work", bar("f-work")),
  legendEntry("a tool that failed", bar("f-care")),
  legendEntry("a tool that was denied", bar("f-bad soft")),
  legendEntry("hooks at work", bar("f-good")),
  legendEntry("hooks that denied", bar("f-bad")),
  legendEntry("denied", mark("bad", DIAMOND)),
  legendEntry("fault", mark("care", TRIANGLE)),
]}</ul>`;
