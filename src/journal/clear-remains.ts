// The small things that dead programs leave beside their runs: records they had begun, entries of workspaces, requests to stop, locks, spare
// run directories, homes of probes. Never rejects, and never touches what a living program may hold.

import { existsSync } from "node:fs";
import { defaultParent, realPathOfPlanned } from "../broker/run-directory-place.ts";
import { removeAbandonedSpares } from "../broker/spare-directories.ts";
import { removeAbandonedProbes } from "../render/probe.ts";
import { removeStaleGates } from "../supervisor/start-gate.ts";
import { removeStaleLocks } from "../supervisor/take-turn.ts";
import { removeDeadEntries } from "../supervisor/workspace.ts";
import { journalDirectory, journalPath, LOCK_STALE_MS, removeUnfinished } from "./file.ts";
import type { Recovery } from "./recover.ts";
import { listRequests, withdrawStop } from "./stop-requests.ts";

export async function clearRemains(
  stateDir: string,
  env: NodeJS.ProcessEnv,
  reports: readonly Recovery[],
): Promise<void> {
  // Runs that were ended here, whether or not their agent_exit could be delivered.
  const settled = new Set(reports.filter(isGone).map(({ runId }) => runId));
  await removeUnfinished(stateDir);
  await removeDeadEntries(stateDir, settled);
  await removeStaleGates(stateDir);
  // Of recoverers that died after they had put the journal away.
  await removeStaleLocks(journalDirectory(stateDir), {
    staleMs: LOCK_STALE_MS,
    isWanted: (path) => !existsSync(path),
  });
  for (const runId of await listRequests(stateDir)) {
    if (settled.has(runId) || !existsSync(journalPath(stateDir, runId)))
      await withdrawStop(stateDir, runId).catch(() => {}); // tried again the next time
  }
  await removeAbandonedSpares(realPathOfPlanned(defaultParent(env)));
  await removeAbandonedProbes(env.TMPDIR || undefined);
}

function isGone({ state, extinction }: Recovery): boolean {
  return (state === "recovered" || state === "open") && extinction?.survivors.length === 0;
}
