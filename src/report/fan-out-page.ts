// The page of a fan-out: what its tasks came to, when which attempt ran, what was denied, and a section a run.

import type { AttemptRecord, FanOutRecord, TaskRecord } from "../fanout/record.ts";
import { inWords, toneOf } from "./colours.ts";
import { countOutcomes, layOutGantt, renderGantt, renderOutcomes } from "./gantt.ts";
import { html, type Markup } from "./markup.ts";
import { renderPage } from "./page.ts";
import type { HookCall, RunReport } from "./run-record.ts";
import { describeStart, outcomeOf, renderRunSections, renderWord, toneOfIntegrity } from "./run-sections.ts";
import { renderTable } from "./table.ts";
import { countOf, formatMs, formatTime, shorten } from "./words.ts";

/** Runs with a section of their own: a page of more would be slow. Those that did not succeed, and those with denials, come first. */
export const RUNS_SHOWN = 100;
/** Runs whose sections are open from the start. */
const RUNS_OPEN = 3;
const TEXT_MAX = 500;

export interface FanOutPage {
  readonly fanOut: FanOutRecord;
  /** By run id; a run without receipts is not there. */
  readonly runs: ReadonlyMap<string, RunReport>;
  /** Runs whose receipts could not be read, and why. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** When the state was read. */
  readonly nowMs: number;
}

interface Denial {
  readonly task: TaskRecord;
  readonly run: RunReport;
  readonly call: HookCall;
}

interface Shown {
  readonly task: TaskRecord;
  readonly attempt: AttemptRecord;
  readonly run: RunReport;
}

export function renderFanOutPage({ fanOut, runs, unreadable, nowMs }: FanOutPage): string {
  const { id, startedAt, endedAt, tasks } = fanOut;
  const runOf = ({ runId }: AttemptRecord) => (runId === undefined ? undefined : runs.get(runId));
  const deniedOf = (attempt: AttemptRecord) => {
    const run = runOf(attempt);
    return run === undefined ? (attempt.denied ?? 0) : denialsOf(run).length;
  };
  const all = tasks.flatMap((task) =>
    task.attempts.flatMap((attempt): Shown[] => {
      const run = runOf(attempt);
      return run === undefined ? [] : [{ task, attempt, run }];
    }),
  );
  const shown = chooseRuns(all);
  const shownIds = new Set(shown.map(({ run }) => run.runId));
  const anchorOf = (runId: string) => (shownIds.has(runId) ? `run-${runId}` : undefined);
  const gantt = layOutGantt(fanOut, nowMs, { anchorOf, deniedOf });
  const denials = all.flatMap(({ task, run }) => denialsOf(run).map((call): Denial => ({ task, run, call })));
  const finished = tasks.filter(({ state }) => state === "finished").length;
  const end = endedAt === undefined ? "not ended" : `ended ${formatTime(endedAt)}`;

  const sections: [string, string, Markup][] = [
    ["outcomes", "Outcomes", renderOutcomes(countOutcomes(fanOut))],
    ["gantt", "Attempts over time", renderGantt(gantt)],
    ["denied", "Denied, by task", renderDenied(denials, anchorOf)],
    ["tasks", "Tasks", renderTasks(fanOut, anchorOf, deniedOf)],
    ["runs", "Runs", renderRuns(shown, all.length, unreadable)],
  ];
  return renderPage({
    title: `Fan-out ${id}`,
    lead: html`${countOf(tasks.length, "task")}, ${finished} finished; started ${formatTime(startedAt)}, ${end}`,
    contents: sections.map(([id, name]) => ({ id, name })),
    body: sections.map(
      ([id, name, body]) => html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${name}</h2>
${body}
</section>
`,
    ),
  });
}

function denialsOf({ calls }: RunReport): HookCall[] {
  return calls.filter(({ decision }) => decision === "deny");
}

/** In the order of the tasks; when there are too many, those that a reader looks for. */
function chooseRuns(all: readonly Shown[]): Shown[] {
  if (all.length <= RUNS_SHOWN) return [...all];
  const isWanted = ({ attempt, run }: Shown) => attempt.outcome !== "success" || denialsOf(run).length > 0;
  const wanted = all.filter(isWanted);
  const rest = all.filter((one) => !isWanted(one));
  const chosen = new Set([...wanted, ...rest].slice(0, RUNS_SHOWN));
  return all.filter((one) => chosen.has(one));
}

function renderDenied(denials: readonly Denial[], anchorOf: (runId: string) => string | undefined): Markup {
  if (denials.length === 0)
    return html`<p class="quiet">Nothing was denied, as far as there are receipts.</p>`;
  return renderTable({
    caption: `${countOf(denials.length, "denial")} in ${countOf(new Set(denials.map(({ task }) => task.index)).size, "task")}`,
    unit: "denial",
    rows: denials,
    columns: [
      { name: "Task", cell: ({ task, run }) => linkTo(shorten(task.id, TEXT_MAX), anchorOf(run.runId)) },
      { name: "Event", cell: ({ call }) => `${call.event} #${call.call}` },
      { name: "Tool", cell: ({ call }) => shorten(call.tool ?? "", TEXT_MAX) },
      {
        name: "By",
        cell: ({ call }) =>
          call.hooks
            .filter(({ decision }) => decision === "deny")
            .map(({ hook }) => html`<code>${hook}</code> `),
      },
      {
        name: "Took",
        isNumber: true,
        cell: ({ call }) => (call.durationMs === undefined ? "–" : formatMs(call.durationMs)),
      },
      { name: "Reason", isWide: true, cell: ({ call }) => shorten(call.reason ?? "", TEXT_MAX) },
    ],
  });
}

function renderTasks(
  { tasks }: FanOutRecord,
  anchorOf: (runId: string) => string | undefined,
  deniedOf: (attempt: AttemptRecord) => number,
): Markup {
  const sum = (task: TaskRecord, of: (attempt: AttemptRecord) => number | undefined) => {
    const values = task.attempts.map(of).filter((value) => value !== undefined);
    return values.length === 0 ? undefined : values.reduce((one, other) => one + other, 0);
  };
  return renderTable({
    caption: "Tasks in their order",
    isHushed: true,
    unit: "task",
    rows: tasks,
    columns: [
      { name: "Task", cell: ({ id }) => shorten(id, TEXT_MAX) },
      { name: "Agent", cell: ({ provider }) => provider },
      {
        name: "Came to",
        cell: ({ outcome, state }) => renderWord(inWords(outcome ?? state), toneOf(outcome ?? state)),
      },
      { name: "Reason", isWide: true, cell: ({ reason }) => shorten(reason ?? "", TEXT_MAX) },
      { name: "Denied", isNumber: true, cell: (task) => sum(task, deniedOf) ?? 0 },
      { name: "Took", isNumber: true, cell: (task) => durationOf(task) },
      { name: "Turns", isNumber: true, cell: (task) => sum(task, ({ turns }) => turns) ?? "–" },
      { name: "Cost", isNumber: true, cell: (task) => formatCost(sum(task, ({ costUsd }) => costUsd)) },
      {
        name: "Attempts",
        cell: ({ attempts }) =>
          attempts.map(({ attempt, runId }) => [
            linkTo(
              runId === undefined ? `${attempt} (no run)` : `${attempt}: ${runId.slice(0, 8)}`,
              runId === undefined ? undefined : anchorOf(runId),
            ),
            " ",
          ]),
      },
    ],
  });
}

function linkTo(name: string, anchor: string | undefined): Markup {
  return anchor === undefined ? html`${name}` : html`<a href="#${anchor}">${name}</a>`;
}

function durationOf({ attempts }: TaskRecord): string {
  const first = attempts[0];
  const last = attempts.at(-1);
  if (first === undefined || last?.endedAt === undefined) return "–";
  return formatMs(Date.parse(last.endedAt) - Date.parse(first.startedAt));
}

function formatCost(costUsd: number | undefined): string {
  return costUsd === undefined ? "–" : `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`;
}

function renderRuns(shown: readonly Shown[], total: number, unreadable: ReadonlyMap<string, string>): Markup {
  const isOpen = shown.length <= RUNS_OPEN;
  return html`${
    total > shown.length
      ? html`<p>${shown.length} of ${total} runs are here, those that did not succeed or were denied something first; <code>bridle report</code> makes a page of each other one.</p>`
      : total === 0
        ? html`<p class="quiet">No run has receipts here.</p>`
        : undefined
  }${
    unreadable.size === 0
      ? undefined
      : renderTable({
          caption: "Runs whose receipts could not be read",
          unit: "run",
          rows: [...unreadable],
          columns: [
            { name: "Run", cell: ([runId]) => html`<code>${runId}</code>` },
            { name: "Why", isWide: true, cell: ([, why]) => why },
          ],
        })
  }
${shown.map(({ task, attempt, run }) => {
  const prefix = `r${run.runId}-`;
  const outcome = outcomeOf(run);
  const { state } = run.verified;
  const denied = denialsOf(run).length;
  return html`<details class="run" id="run-${run.runId}"${isOpen ? html` open` : undefined}>
<summary>${shorten(task.id, TEXT_MAX)}${attempt.attempt > 1 ? `, attempt ${attempt.attempt}` : ""}: <span class="t-${toneOf(outcome)}">${inWords(outcome)}</span>${denied > 0 ? `, ${denied} denied` : ""}, receipts <span class="t-${toneOfIntegrity(state)}">${inWords(state)}</span></summary>
<p class="quiet">Run <code>${run.runId}</code>, ${describeStart(run)}</p>
${renderRunSections(run, prefix).sections}
</details>
`;
})}`;
}
