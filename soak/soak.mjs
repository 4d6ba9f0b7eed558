// @ts-check
// Many runs at once for a while, through the library's own door, and what they leave behind. Measures; judges nothing (checks.mjs).

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { livingProcesses, memoryInUse, namesIn, openDescriptors, settle, watchdogs } from "./measure.mjs";

/** @import { Measured, RunRecord } from "./checks.mjs" */
/** @typedef {Pick<typeof import("../src/index.ts"), "compileAgentHooks" | "createSupervisor">} Library */
/** @typedef {{ eventLoopDelayP99Ms: number, elapsedMs: number, rampMs: number, hookCalls: number, attestMs: number }} Figures */

const AGENT = join(import.meta.dirname, "agent.sh");
/** All start at once on few cores: the last of them waits for all others before it can answer. */
const ATTEST_MS = 120_000;
const DENIAL = { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "not this" } };

/** Keeps so many at work until it is over: as one ends, the next begins. @param {{ concurrency: number, isOver: () => boolean, one: (nth: number) => Promise<void> }} options */
async function keepBusy({ concurrency, isOver, one }) {
  let count = 0;
  const work = async () => {
    do await one(count++);
    while (!isOver());
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

/** What the nth agent does: between 3 and 6 calls, of which up to 2 are denied, 4 s apart at most. @param {number} nth @param {number} seconds */
const scriptOf = (nth, seconds) => ({
  turns: 3 + (nth % 4),
  deny: nth % 3,
  pause: Math.min(4, seconds / 6) * (0.7 + (nth % 5) / 10),
});

/**
 * @param {Library} library
 * @param {{ agents: number, seconds: number, containment?: "auto" | "sweep" | "pid-namespace" }} options
 * @returns {Promise<{ measured: Measured, figures: Figures }>}
 */
export async function soak(library, { agents, seconds, containment = "auto" }) {
  // Outside the temporary folder: a run directory there is refused.
  mkdirSync(join(homedir(), ".cache"), { recursive: true });
  const folder = mkdtempSync(join(homedir(), ".cache", "bridle-soak-"));
  for (const name of ["project", "tmp"]) mkdirSync(join(folder, name));
  try {
    return await soakIn(folder, library, { agents, seconds, containment });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder @param {Library} library @param {{ agents: number, seconds: number, containment: "auto" | "sweep" | "pid-namespace" }} options */
async function soakIn(folder, { compileAgentHooks, createSupervisor }, { agents, seconds, containment }) {
  const cwd = join(folder, "project");
  const env = { PATH: "/usr/bin:/bin", HOME: folder, TMPDIR: join(folder, "tmp") };
  const state = join(folder, ".local", "state", "bridle");
  // A shell needs far less than an agent.
  const supervisor = createSupervisor({ concurrency: agents, memoryPerRunBytes: 8 * 1024 * 1024 });
  /** Calls of our handlers, by run and event. @type {Map<string, Record<string, number>>} */
  const asked = new Map();
  const note = (/** @type {any} */ { run_id: run, hook_event_name: event, tool_command: command }) => {
    const calls = asked.get(run) ?? {};
    asked.set(run, calls);
    calls[event] = (calls[event] ?? 0) + 1;
    return event === "PreToolUse" && String(command).startsWith("forbidden") ? DENIAL : undefined;
  };
  const entries = [{ hooks: [{ type: /** @type {const} */ ("function"), handler: note }] }];
  const events = ["agent_prompt", "SessionStart", "PreToolUse", "Stop", "SessionEnd", "agent_exit"];
  const hooks = await compileAgentHooks(Object.fromEntries(events.map((event) => [event, entries])), {
    provider: "claude",
    cwd,
    binary: AGENT,
    prove: "off",
  });

  /** @type {RunRecord[]} */
  const runs = [];
  /** @type {string[]} */
  const failedStarts = [];
  const runIds = new Set();
  let underWay = 0;
  let peakRuns = 0;

  const oneRun = async (/** @type {RunRecord["script"] & { pause: number }} */ script) => {
    const { turns, deny, pause } = script;
    /** @type {Awaited<ReturnType<ReturnType<Library["createSupervisor"]>["run"]>>} */
    let run;
    try {
      run = await supervisor.run({
        hooks,
        cwd,
        prompt: `turns=${turns} deny=${deny} pause=${pause.toFixed(2)} `,
        baseEnv: env,
        containment,
        // The fake writes into no home: nothing to keep apart.
        startGate: "off",
        deadlines: { attestMs: ATTEST_MS },
      });
    } catch (error) {
      failedStarts.push(String(error));
      return;
    }
    runIds.add(run.id);
    underWay += 1;
    peakRuns = Math.max(peakRuns, underWay);
    const seqs = [];
    let lastType = "";
    for await (const event of run) {
      seqs.push(event.seq);
      lastType = event.type;
    }
    const { outcome, reason, finalText, hooks: counts, extinction } = await run.result;
    underWay -= 1;
    runs.push({
      outcome,
      reason,
      seqs,
      lastType,
      finalText,
      asked: asked.get(run.id) ?? {},
      hooks: counts,
      script: { turns, deny },
      extinction: extinction.state,
      survivors: extinction.survivors.length,
    });
    asked.delete(run.id);
  };

  // What a first run brings for good, the watchdog and loaded code, is no leak.
  await oneRun({ turns: 1, deny: 0, pause: 0 });
  const before = openDescriptors();
  const first = memoryInUse();

  const loop = monitorEventLoopDelay({ resolution: 10 });
  loop.enable();
  const startedAt = performance.now();
  /** Set when all of them are under way: from then on it counts. */
  let endsAt = Number.POSITIVE_INFINITY;
  const peaks = { rss: 0, descriptors: 0 };
  const look = () => {
    peaks.rss = Math.max(peaks.rss, process.memoryUsage.rss());
    peaks.descriptors = Math.max(peaks.descriptors, openDescriptors());
  };
  const sampler = setInterval(look, 500);
  const busy = keepBusy({
    concurrency: agents,
    isOver: () => performance.now() > endsAt || failedStarts.length > 0,
    one: (nth) => oneRun(scriptOf(nth, seconds)),
  });
  while (peakRuns < agents && failedStarts.length === 0) await delay(50);
  const rampMs = performance.now() - startedAt;
  endsAt = performance.now() + seconds * 1000;
  await delay((seconds * 1000) / 3);
  const third = memoryInUse();
  await delay(endsAt - performance.now());
  const end = memoryInUse();
  await busy;
  await supervisor.stop();
  clearInterval(sampler);
  loop.disable();
  const elapsedMs = performance.now() - startedAt;

  const processes = await settle(
    () => livingProcesses({ folder, runIds }),
    (left) => left.length === 0,
  );
  const after = await settle(openDescriptors, (open) => open <= before);
  const all = runs.map((run) => Object.values(run.asked).reduce((sum, count) => sum + count, 0));
  return {
    measured: {
      agents,
      peakRuns,
      failedStarts,
      runs,
      descriptors: { before, peak: peaks.descriptors, after },
      memory: { before: first, third, end, after: memoryInUse(), peakRss: peaks.rss },
      processes,
      watchdogs: watchdogs().length,
      // Those made ahead go with the program (docs/SUPERVISOR.md).
      runDirectories: namesIn(state, "run").filter((name) => !name.startsWith(".spare-")),
      temporaryFiles: namesIn(folder, "tmp"),
      openJournals: [
        ...namesIn(state, "journal").filter((name) => name.endsWith(".jsonl")),
        ...namesIn(state, "journal", "stop"),
      ],
      receiptFiles: namesIn(state, "receipts").length,
    },
    figures: {
      eventLoopDelayP99Ms: loop.percentile(99) / 1e6,
      elapsedMs,
      rampMs,
      hookCalls: all.reduce((sum, count) => sum + count, 0),
      attestMs: ATTEST_MS,
    },
  };
}
