// @ts-check
// What must hold of a soak, as data. Each check looks at the measurements alone.

/**
 * @typedef {object} RunRecord what was seen of one run
 * @property {string} outcome
 * @property {string} reason
 * @property {number[]} seqs numbers of its events, in their order
 * @property {string} lastType type of its last event
 * @property {string | undefined} finalText what the agent says it was told
 * @property {Record<string, number>} asked calls of our handlers, by event
 * @property {{ fired: number, ran: number, denied: number, failed: number, late: number }} hooks
 * @property {{ turns: number, deny: number }} script
 * @property {string} extinction
 * @property {number} survivors
 *
 * @typedef {{ rss: number, heap: number }} Bytes
 *
 * @typedef {object} Measured
 * @property {number} agents
 * @property {number} peakRuns most runs under way at once
 * @property {readonly string[]} failedStarts
 * @property {readonly RunRecord[]} runs
 * @property {{ before: number, peak: number, after: number }} descriptors
 * @property {{ before: Bytes, third: Bytes, end: Bytes, after: Bytes, peakRss: number }} memory before the load, after the first third, at the
 *   end of the time, and when all is over
 * @property {readonly string[]} processes left behind
 * @property {number} watchdogs
 * @property {readonly string[]} runDirectories left behind
 * @property {readonly string[]} temporaryFiles left behind
 * @property {readonly string[]} openJournals
 * @property {number} receiptFiles
 */

const MEBIBYTE = 1024 * 1024;
/** Most that the resident memory may grow from the first third to the end, under the same load. */
export const RSS_GROWTH_BYTES = 64 * MEBIBYTE;
/** Most that live objects may be above what they were before, when all is over: what is noted here of each run, and compiled code. */
export const HEAP_GROWTH_BYTES = 8 * MEBIBYTE;

/** Events that an agent of the script asks its hooks about. @param {RunRecord["script"]} script */
export const scriptedCalls = ({ turns }) => ({
  agent_prompt: 1,
  SessionStart: 1,
  PreToolUse: turns,
  Stop: 1,
  SessionEnd: 1,
  agent_exit: 1,
});

/** @param {RunRecord} run */
const isGapFree = ({ seqs, lastType }) =>
  seqs.length > 0 && lastType === "result" && seqs.every((seq, index) => seq === index);

/** @param {RunRecord} run */
function hasScriptedHooks({ asked, hooks, finalText, script }) {
  const wanted = scriptedCalls(script);
  const calls = Object.values(wanted).reduce((sum, count) => sum + count, 0);
  return (
    Object.entries(wanted).every(([event, count]) => asked[event] === count) &&
    Object.keys(asked).length === Object.keys(wanted).length &&
    hooks.fired === calls &&
    hooks.ran === calls &&
    hooks.denied === script.deny &&
    hooks.failed === 0 &&
    finalText === `admitted ${script.turns - script.deny} denied ${script.deny}`
  );
}

/** How many, and the first of them. @template T @param {readonly T[]} bad @param {(it: T) => unknown} show */
const list = (bad, show) =>
  bad.length === 0 ? undefined : `${bad.length}: ${JSON.stringify(bad.slice(0, 1).map(show))}`;

/** By name: what is wrong, or undefined. @type {Readonly<Record<string, (measured: Measured) => string | undefined>>} */
export const CHECKS = {
  "all of the agents were under way at once": ({ agents, peakRuns }) =>
    peakRuns >= agents ? undefined : `${peakRuns} of ${agents}`,
  "every start came to a run": ({ failedStarts }) => list(failedStarts, (it) => it),
  "every run is a success": ({ runs }) =>
    runs.length === 0
      ? "no run"
      : list(
          runs.filter(({ outcome }) => outcome !== "success"),
          ({ outcome, reason }) => `${outcome}: ${reason}`,
        ),
  "every run's sequence is gap-free from 0 to its result": ({ runs }) =>
    list(
      runs.filter((run) => !isGapFree(run)),
      ({ seqs, lastType }) => ({ seqs, lastType }),
    ),
  "hooks were asked and counted as scripted": ({ runs }) =>
    list(
      runs.filter((run) => !hasScriptedHooks(run)),
      ({ asked, hooks, finalText, script }) => ({ asked, hooks, finalText, script }),
    ),
  "no extinction is unproven": ({ runs }) =>
    list(
      runs.filter(({ extinction, survivors }) => extinction === "unproven" || survivors > 0),
      ({ extinction, survivors }) => ({ extinction, survivors }),
    ),
  "no descriptor is left open": ({ descriptors: { before, after } }) =>
    after <= before ? undefined : `${after} where ${before} were before`,
  "resident memory does not grow": ({ memory: { third, end } }) =>
    end.rss - third.rss <= RSS_GROWTH_BYTES
      ? undefined
      : `${end.rss - third.rss} bytes from the first third on`,
  "no objects are left": ({ memory: { before, after } }) =>
    after.heap - before.heap <= HEAP_GROWTH_BYTES
      ? undefined
      : `${after.heap - before.heap} bytes more than before`,
  "no process is left": ({ processes }) => list(processes, (pid) => pid),
  "there is one watchdog at most": ({ watchdogs }) => (watchdogs <= 1 ? undefined : String(watchdogs)),
  "no run directory is left": ({ runDirectories }) => list(runDirectories, (name) => name),
  "no temporary file is left": ({ temporaryFiles }) => list(temporaryFiles, (name) => name),
  "no journal is open": ({ openJournals }) => list(openJournals, (name) => name),
  "there is one receipt file a run": ({ receiptFiles, runs }) =>
    receiptFiles === runs.length ? undefined : `${receiptFiles} of ${runs.length}`,
};

/** @param {Measured} measured @returns {{ check: string, detail: string }[]} */
export function findViolations(measured) {
  return Object.entries(CHECKS).flatMap(([check, look]) => {
    const detail = look(measured);
    return detail === undefined ? [] : [{ check, detail: detail.slice(0, 1000) }];
  });
}
