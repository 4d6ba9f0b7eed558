// Every check of the soak can fail.

import { expect, test } from "vitest";
import {
  CHECKS,
  findViolations,
  HEAP_GROWTH_BYTES,
  type Measured,
  RSS_GROWTH_BYTES,
} from "../../soak/checks.mjs";

const run: Measured["runs"][number] = {
  outcome: "success",
  reason: "completed",
  seqs: [0, 1, 2],
  lastType: "result",
  finalText: "admitted 2 denied 1",
  asked: { agent_prompt: 1, SessionStart: 1, PreToolUse: 3, Stop: 1, SessionEnd: 1, agent_exit: 1 },
  hooks: { fired: 8, ran: 8, denied: 1, failed: 0, late: 0 },
  script: { turns: 3, deny: 1 },
  extinction: "proven",
  survivors: 0,
};
const BYTES = { rss: 100, heap: 100 };
const good: Measured = {
  agents: 1,
  peakRuns: 1,
  failedStarts: [],
  runs: [run],
  descriptors: { before: 20, peak: 30, after: 20 },
  memory: { before: BYTES, third: BYTES, end: BYTES, after: BYTES, peakRss: 100 },
  processes: [],
  watchdogs: 1,
  runDirectories: [],
  temporaryFiles: [],
  openJournals: [],
  receiptFiles: 1,
};
const withRun = (changes: Partial<typeof run>): Partial<Measured> => ({ runs: [{ ...run, ...changes }] });

const SPOILED: [keyof typeof CHECKS, Partial<Measured>][] = [
  ["all of the agents were under way at once", { agents: 2 }],
  ["every start came to a run", { failedStarts: ["refused"] }],
  ["every run is a success", withRun({ outcome: "failed" })],
  ["every run is a success", { runs: [], receiptFiles: 0 }],
  ["every run's sequence is gap-free from 0 to its result", withRun({ seqs: [0, 2, 3] })],
  ["every run's sequence is gap-free from 0 to its result", withRun({ seqs: [1, 2, 3] })],
  ["every run's sequence is gap-free from 0 to its result", withRun({ seqs: [] })],
  ["every run's sequence is gap-free from 0 to its result", withRun({ lastType: "message" })],
  ["hooks were asked and counted as scripted", withRun({ asked: { ...run.asked, PreToolUse: 2 } })],
  ["hooks were asked and counted as scripted", withRun({ asked: { ...run.asked, Interrupt: 1 } })],
  ["hooks were asked and counted as scripted", withRun({ hooks: { ...run.hooks, fired: 9 } })],
  ["hooks were asked and counted as scripted", withRun({ hooks: { ...run.hooks, ran: 7 } })],
  ["hooks were asked and counted as scripted", withRun({ hooks: { ...run.hooks, denied: 0 } })],
  ["hooks were asked and counted as scripted", withRun({ hooks: { ...run.hooks, failed: 1 } })],
  ["hooks were asked and counted as scripted", withRun({ finalText: "admitted 3 denied 0" })],
  ["no extinction is unproven", withRun({ extinction: "unproven" })],
  ["no extinction is unproven", withRun({ survivors: 1 })],
  ["no descriptor is left open", { descriptors: { before: 20, peak: 30, after: 21 } }],
  [
    "resident memory does not grow",
    { memory: { ...good.memory, end: { ...BYTES, rss: 101 + RSS_GROWTH_BYTES } } },
  ],
  ["no objects are left", { memory: { ...good.memory, after: { ...BYTES, heap: 101 + HEAP_GROWTH_BYTES } } }],
  ["no process is left", { processes: ["1"] }],
  ["there is one watchdog at most", { watchdogs: 2 }],
  ["no run directory is left", { runDirectories: ["x"] }],
  ["no temporary file is left", { temporaryFiles: ["x"] }],
  ["no journal is open", { openJournals: ["x.jsonl"] }],
  ["there is one receipt file a run", { receiptFiles: 2 }],
];

test("a good soak violates nothing", () => {
  expect(findViolations(good)).toEqual([]);
});

test.each(SPOILED)("%s: not with %j", (check, changes) => {
  expect(findViolations({ ...good, ...changes }).map((it) => it.check)).toContain(check);
});

test("every check has its case", () => {
  expect([...new Set(SPOILED.map(([check]) => check))].sort()).toEqual(Object.keys(CHECKS).sort());
});
