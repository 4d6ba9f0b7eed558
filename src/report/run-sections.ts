// The sections of one run: what came of it, what was denied, when, by which hooks, and whether its receipts can be believed.

import type { Json } from "../json.ts";
import type { ReceiptsState, VerifiedReceipts } from "../receipts/verify-receipts.ts";
import { inWords, type Tone, toneOf } from "./colours.ts";
import { html, type Markup, type Part } from "./markup.ts";
import { type HookCall, type HookRun, numberOf, type RunReport, textOf } from "./run-record.ts";
import { renderTable } from "./table.ts";
import { denialId, renderTimeline } from "./timeline.ts";
import { countOf, formatMs, shorten } from "./words.ts";

/** Denials that are shown one by one; the tables have all. */
const DENIALS_SHOWN = 100;
/** Of a reason, a note, a name. In UTF-16 units. */
const TEXT_MAX = 2_000;

const text = (value: string | undefined): Part => (value === undefined ? "–" : shorten(value, TEXT_MAX));
const decided = (decision: string | undefined): string =>
  decision === undefined ? "no verdict" : decision === "deny" ? "denied" : decision;

export interface RunSections {
  readonly contents: readonly { readonly id: string; readonly name: string }[];
  readonly sections: readonly Markup[];
}

/** @param prefix of every id, where a page has several runs */
export function renderRunSections(run: RunReport, prefix = ""): RunSections {
  const denials = run.calls.filter(({ decision }) => decision === "deny");
  const parts: [string, string, Markup][] = [
    ["outcome", "Outcome", renderFacts(run, denials.length)],
    ...(denials.length === 0
      ? []
      : [["denials", "Denied", renderDenials(denials, prefix)] as [string, string, Markup]]),
    ["timeline", "Timeline", renderTimelineSection(run, denials, prefix)],
    ["hooks", "Hooks", renderHooks(run)],
    ...(run.remarks.length === 0
      ? []
      : [["remarks", "Faults and warnings", renderRemarks(run)] as [string, string, Markup]]),
    ["receipts", "Receipts", renderReceipts(run.verified, run.unreadable)],
  ];
  return {
    contents: parts.map(([id, name]) => ({ id: `${prefix}${id}`, name })),
    sections: parts.map(
      ([id, name, body]) => html`<section id="${prefix}${id}" aria-labelledby="${prefix}${id}-title">
<h2 id="${prefix}${id}-title">${name}</h2>
${body}
</section>
`,
    ),
  };
}

/** Of a run without an end: it goes on, or nobody has told how it ended. */
export function outcomeOf(run: RunReport): string {
  return textOf(run.end?.outcome) ?? "no end";
}

export function renderWord(word: string, tone: Tone): Markup {
  return html`<span class="word t-${tone}">${word}</span>`;
}

function renderFacts(run: RunReport, denied: number): Markup {
  const { end, start, turns, tools, calls, remarks, verified } = run;
  const outcome = outcomeOf(run);
  const ran = calls.flatMap(({ hooks }) => hooks);
  const failed = ran.filter((hook) => hook.failed).length;
  const faults = remarks.filter(({ kind }) => kind === "fault").length;
  const extinction = textOf(end?.extinction);
  const unfinished = turns
    .filter(({ status }) => status !== "ok")
    .map(({ status }) => status ?? "no final message");
  const inHooks = calls.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  const facts: [string, Part, Part?][] = [
    ["Outcome", renderWord(inWords(outcome), toneOf(outcome)), text(textOf(end?.reason))],
    [
      "Duration",
      formatMs(numberOf(end?.duration_ms) ?? run.totalMs),
      calls.length === 0 ? undefined : `${formatMs(inHooks)} in hooks`,
    ],
    ["Agent", `${textOf(start?.provider) ?? "?"} ${textOf(start?.provider_version) ?? ""}`, exitOf(run)],
    ["Turns", turns.length, unfinished.length === 0 ? undefined : shorten(unfinished.join(", "), 80)],
    ["Tool calls", tools.length, "as the agent tells them"],
    ["Hook calls", calls.length, countOf(ran.length, "hook run")],
    ["Denied", renderWord(String(denied), denied === 0 ? "still" : "bad")],
    ["Hooks that failed", renderWord(String(failed), failed === 0 ? "still" : "care")],
    ["Faults", renderWord(String(faults), faults === 0 ? "still" : "care")],
    [
      "Processes",
      extinction === undefined ? "–" : renderWord(extinction, EXTINCTION[extinction] ?? "still"),
      extinction === undefined ? undefined : EXTINCTION_WORDS[extinction],
    ],
    ["Guards", text(textOf(start?.prove)?.replaceAll("_", " ")), canaryOf(run)],
    ["Receipts", renderWord(inWords(verified.state), INTEGRITY[verified.state]), `${verified.lines} lines`],
  ];
  return html`<dl class="facts">
${facts.map(
  ([name, value, small]) =>
    html`<div><dt>${name}</dt><dd>${value}${small === undefined ? undefined : html`<small>${small}</small>`}</dd></div>\n`,
)}</dl>`;
}

function exitOf({ end }: RunReport): Part {
  const code = numberOf(end?.exit_code);
  const signal = textOf(end?.signal);
  const recovered = end?.recovered === true ? "told by recovery" : undefined;
  const ended = signal ?? (code === undefined ? undefined : `exit ${code}`);
  return [ended, recovered].filter((word) => word !== undefined).join(", ") || undefined;
}

function canaryOf({ canary }: RunReport): Part {
  return canary === undefined ? undefined : `canary ${canary}`;
}

const EXTINCTION: Readonly<Record<string, Tone>> = { proven: "good", swept: "good", unproven: "care" };
const EXTINCTION_WORDS: Readonly<Record<string, string>> = {
  proven: "the namespace was seen empty",
  swept: "nothing was left that could be found",
  unproven: "something may be left",
};

function renderDenials(denials: readonly HookCall[], prefix: string): Markup {
  const items = denials.slice(0, DENIALS_SHOWN).map(
    (call, index) => html`<li id="${denialId(prefix, index)}">
<strong>${text(call.tool ?? call.event)}</strong> <span class="quiet">${call.event} #${call.call}, ${formatMs(call.atMs)} after the start, decided in ${call.durationMs === undefined ? "–" : formatMs(call.durationMs)}</span>
<p class="why">${call.reason === undefined ? html`<span class="quiet">no reason was written down</span>` : text(call.reason)}</p>
<p class="quiet">${deniedBy(call)}</p>
</li>
`,
  );
  const rest = denials.length - DENIALS_SHOWN;
  return html`<ol class="denials">
${items}</ol>
${rest > 0 ? html`<p>${countOf(rest, "more denial")}: in the table of hook calls below.</p>` : undefined}`;
}

function deniedBy({ hooks }: HookCall): Part {
  const by = hooks.filter(({ decision }) => decision === "deny");
  if (by.length === 0) return "by no hook of its own: the call came too late, or its answer was withheld";
  return [
    "by ",
    by.map((hook, index) => [
      index === 0 ? "" : ", ",
      html`<code>${hook.hook}</code>`,
      hook.failed ? " (failed)" : "",
    ]),
  ];
}

function renderTimelineSection(run: RunReport, denials: readonly HookCall[], prefix: string): Markup {
  const turns = run.turns.map((turn) => ({ ...turn, end: turn.endMs }));
  return html`${renderTimeline(run, denials, prefix)}
<details><summary>Turns and tool calls as tables</summary>
${
  turns.length === 0
    ? html`<p class="quiet">No turns are in these receipts.</p>`
    : renderTable({
        caption: "Turns",
        unit: "turn",
        rows: turns,
        columns: [
          { name: "Turn", cell: ({ turn }) => turn },
          { name: "Begins", isNumber: true, cell: ({ startMs }) => formatMs(startMs) },
          {
            name: "Takes",
            isNumber: true,
            cell: ({ startMs, end }) => (end === undefined ? "–" : formatMs(end - startMs)),
          },
          { name: "Final message", cell: ({ status }) => status ?? "none" },
        ],
      })
}
${
  run.tools.length === 0
    ? html`<p class="quiet">No tool calls are in these receipts.</p>`
    : renderTable({
        caption: "Tool calls, as the agent tells them",
        unit: "tool call",
        rows: run.tools,
        columns: [
          { name: "Tool", cell: ({ name }) => text(name) },
          { name: "Begins", isNumber: true, cell: ({ startMs }) => formatMs(startMs) },
          {
            name: "Takes",
            isNumber: true,
            cell: ({ startMs, endMs }) => (endMs === undefined ? "–" : formatMs(endMs - startMs)),
          },
          {
            name: "Came to",
            cell: ({ endMs, isDenied, isFailed }) =>
              isDenied ? "denied" : isFailed ? "failed" : endMs === undefined ? "no end told" : "ok",
          },
          { name: "Id", cell: ({ id }) => html`<code>${text(id)}</code>` },
        ],
      })
}
</details>`;
}

interface HookRow extends HookRun {
  readonly of: HookCall;
}

interface HookTotal {
  readonly hook: string;
  readonly runs: number;
  readonly denied: number;
  readonly failed: number;
  readonly sorted: readonly number[];
}

function renderHooks({ calls, events }: RunReport): Markup {
  const rows = calls.flatMap((of) => of.hooks.map((hook): HookRow => ({ ...hook, of })));
  const unasked = calls.filter(({ hooks }) => hooks.length === 0);
  if (calls.length === 0) return html`<p class="quiet">No hook was asked.</p>`;
  const totals = totalsOf(rows);
  return html`${
    rows.length === 0
      ? html`<p class="quiet">No hook ran: none matched.</p>`
      : html`${renderTable({
          caption: "By hook",
          unit: "hook",
          rows: totals,
          columns: [
            { name: "Hook", cell: ({ hook }) => html`<code>${text(hook)}</code>` },
            { name: "Runs", isNumber: true, cell: ({ runs }) => runs },
            { name: "Denied", isNumber: true, cell: ({ denied }) => denied },
            { name: "Failed", isNumber: true, cell: ({ failed }) => failed },
            { name: "Median", isNumber: true, cell: ({ sorted }) => formatMs(at(sorted, 0.5)) },
            { name: "95th", isNumber: true, cell: ({ sorted }) => formatMs(at(sorted, 0.95)) },
            { name: "Longest", isNumber: true, cell: ({ sorted }) => formatMs(at(sorted, 1)) },
          ],
        })}
<details${rows.length <= 25 ? html` open` : undefined}><summary>${countOf(rows.length, "hook run")}, one by one</summary>
${renderTable({
  caption: "Hook runs",
  unit: "hook run",
  rows,
  columns: [
    { name: "At", cell: ({ of }) => formatMs(of.atMs) },
    { name: "Event", cell: ({ of }) => `${of.event} #${of.call}` },
    { name: "Tool", cell: ({ of }) => (of.tool === undefined ? "" : text(of.tool)) },
    { name: "Hook", cell: ({ hook }) => html`<code>${text(hook)}</code>` },
    { name: "Verdict", cell: verdictOf },
    { name: "Took", isNumber: true, cell: ({ durationMs }) => formatMs(durationMs) },
    {
      name: "Ended",
      cell: ({ exit, isBackground }) => `${exit}${isBackground ? ", in the background" : ""}`,
    },
    { name: "Notes", isWide: true, cell: ({ notes }) => shorten(notes.join("; "), TEXT_MAX) },
  ],
})}
</details>`
  }
${
  unasked.length === 0
    ? undefined
    : html`<details><summary>${countOf(unasked.length, "call")} that no hook ran for</summary>
${renderTable({
  caption: "Calls that no hook ran for",
  unit: "call",
  rows: unasked,
  columns: [
    { name: "At", cell: ({ atMs }) => formatMs(atMs) },
    { name: "Event", cell: ({ event, call }) => `${event} #${call}` },
    { name: "Tool", cell: ({ tool }) => (tool === undefined ? "" : text(tool)) },
    { name: "Verdict", cell: ({ decision }) => decided(decision) },
  ],
})}
</details>`
}
${
  events.length === 0
    ? undefined
    : html`<details><summary>What is known about each event</summary>
${renderTable({
  caption: "Attestation",
  unit: "event",
  rows: events,
  columns: [
    { name: "Event", cell: ({ event }) => event },
    { name: "Live before the prompt", cell: ({ preflighted }) => (preflighted ? "yes" : "not shown") },
    { name: "Fired", isNumber: true, cell: ({ fired }) => fired },
    { name: "Answered", isNumber: true, cell: ({ answered }) => answered },
    { name: "Late", isNumber: true, cell: ({ late }) => late },
    { name: "Never", isNumber: true, cell: ({ never }) => never },
  ],
})}
</details>`
}`;
}

function verdictOf({ decision, failed }: HookRow): Part {
  if (failed) return renderWord(`failed, ${decided(decision)}`, "care");
  return decision === "deny" ? renderWord("denied", "bad") : decided(decision);
}

function totalsOf(rows: readonly HookRow[]): HookTotal[] {
  const byHook = new Map<string, HookRow[]>();
  for (const row of rows) {
    const known = byHook.get(row.hook);
    if (known === undefined) byHook.set(row.hook, [row]);
    else known.push(row);
  }
  return [...byHook].map(([hook, own]) => ({
    hook,
    runs: own.length,
    denied: own.filter(({ decision }) => decision === "deny").length,
    failed: own.filter(({ failed }) => failed).length,
    sorted: own.map(({ durationMs }) => durationMs).sort((one, other) => one - other),
  }));
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

function renderRemarks({ remarks }: RunReport): Markup {
  return renderTable({
    caption: "Faults and warnings",
    isHushed: true,
    unit: "line",
    rows: [...remarks].sort((one, other) => Number(other.kind === "fault") - Number(one.kind === "fault")),
    columns: [
      { name: "At", cell: ({ atMs }) => formatMs(atMs) },
      { name: "What", cell: ({ kind }) => (kind === "fault" ? renderWord("fault", "care") : "warning") },
      {
        name: "Code",
        cell: ({ code, event }) => [html`<code>${text(code)}</code>`, event === undefined ? "" : ` ${event}`],
      },
      { name: "Words", isWide: true, cell: (remark) => text(remark.text) },
    ],
  });
}

const INTEGRITY: Readonly<Record<ReceiptsState, Tone>> = {
  intact: "good",
  open: "care",
  broken: "bad",
  not_chained: "still",
};

const INTEGRITY_WORDS: Readonly<Record<ReceiptsState, string>> = {
  intact: "Every line is as it was written, none is missing, and the end is there.",
  open: "What is there is as it was written, but there is no end: the run goes on, was killed, or its last lines were cut off.",
  broken: "Something is not as it was written. Nothing on this page can be relied on.",
  not_chained: "Written without a chain of hashes: whether anything was changed cannot be shown.",
};

export function toneOfIntegrity(state: ReceiptsState): Tone {
  return INTEGRITY[state];
}

function renderReceipts(
  { state, path, lines, runs, problems }: VerifiedReceipts,
  unreadable: number,
): Markup {
  const head = runs[0]?.head;
  const facts: [string, Part][] = [
    ["File", html`<code>${path}</code>`],
    ["Lines", `${lines}${unreadable === 0 ? "" : `, ${unreadable} of them could not be read`}`],
    ["Head", head === undefined ? "none" : html`<code>${head}</code>`],
  ];
  return html`<p>${renderWord(inWords(state), INTEGRITY[state])}. ${INTEGRITY_WORDS[state]}</p>
<dl class="plain">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>\n`)}</dl>
${
  problems.length === 0
    ? undefined
    : renderTable({
        caption: "What the chain shows",
        unit: "problem",
        rows: problems,
        columns: [
          { name: "Line", cell: ({ line }) => line },
          { name: "What", cell: ({ kind }) => inWords(kind) },
          { name: "Words", isWide: true, cell: ({ detail }) => text(detail) },
        ],
      })
}
<p class="quiet">The chain has no key: a file that was rewritten as a whole is shown only by a head that was noted elsewhere.</p>`;
}

/** For the head of a page: where and with what the run was. */
export function describeStart({ start }: RunReport): string {
  const of = (name: string): Json | undefined => start?.[name];
  const words = [`${textOf(of("provider")) ?? "?"} ${textOf(of("provider_version")) ?? ""}`.trim()];
  const cwd = textOf(of("cwd"));
  if (cwd !== undefined) words.push(cwd);
  return words.join(", in ");
}
