// What a dead holder of a lock has left: its runs are recovered as `bridle recover` does, and the lock is free only when none of their processes
// is there.

import { findByMarker } from "../exec/sweep.ts";
import { endedDirectory, journalDirectory, readJournals } from "../journal/file.ts";
import type { ProcessIdentity } from "../journal/process-identity.ts";
import { recoverRuns } from "../journal/recover.ts";
import { RUN_MARKER } from "../spawn/environment.ts";

/** Undefined: nothing is left. Otherwise what is. */
export async function clearDeadHolder(
  holder: ProcessIdentity,
  { stateDir, env }: { stateDir: string; env: NodeJS.ProcessEnv },
): Promise<string | undefined> {
  const open = await runsOf(journalDirectory(stateDir), holder);
  const reports = open.length === 0 ? [] : await recoverRuns({ stateDir, env });
  for (const report of reports) {
    if (!open.includes(report.runId)) continue;
    const survivors = report.extinction?.survivors ?? [];
    if (survivors.length > 0) return `its run ${report.runId} has left pids ${survivors.join(", ")}`;
    if (report.state === "claimed") return `its run ${report.runId} is being recovered by another program`;
  }
  for (const runId of [...open, ...(await runsOf(endedDirectory(stateDir), holder))]) {
    const left = findByMarker(RUN_MARKER, runId).processes.map(({ pid }) => pid);
    if (left.length > 0) return `its run ${runId} has left pids ${left.join(", ")}`;
  }
  return undefined;
}

async function runsOf(folder: string, holder: ProcessIdentity): Promise<string[]> {
  const wanted = nameOf(holder);
  return (await readJournals(folder)).flatMap(({ runId, record }) =>
    !("problem" in record) && nameOf(record.admitted.supervisor) === wanted ? [runId] : [],
  );
}

function nameOf({ pid, startTime, bootId, pidNamespace, machine }: ProcessIdentity): string {
  return JSON.stringify([pid, startTime, bootId, pidNamespace, machine]);
}
