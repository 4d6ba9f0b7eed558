// Asks the supervisor of a run to stop it. The one way: nothing is signalled from here, so there is one agent_exit and it is true.

import { setTimeout as delay } from "node:timers/promises";
import { stateDirectory } from "../receipts/writer.ts";
import { endedDirectory, journalPath, readJournal } from "./file.ts";
import { describeRun, type RunState } from "./list-runs.ts";
import { requestStop, withdrawStop } from "./stop-requests.ts";

/** `stopped`: it has ended. `no_answer`: its supervisor did not stop it in time. The others: there is nothing to ask. */
export type StopAnswer = "stopped" | "no_answer" | "no_such_run" | Exclude<RunState, "running">;

const POLL_MS = 50;

/**
 * Asks the supervisor of a run to stop it, and waits until the run has ended. The supervisor fires agent_exit, as for `run.stop()`.
 *
 * @param timeoutMs how long the end is waited for. @default 30000
 */
export async function stopRun(
  runId: string,
  { timeoutMs = 30_000, stateDir = stateDirectory() }: { timeoutMs?: number; stateDir?: string } = {},
): Promise<StopAnswer> {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(runId)) return "no_such_run";
  const find = async () => {
    const found = await readJournal(journalPath(stateDir, runId));
    return found ?? (await readJournal(`${endedDirectory(stateDir)}/${runId}.jsonl`));
  };
  const first = await find();
  if (first === undefined) return "no_such_run";
  const { state } = await describeRun(first);
  if (state !== "running") return state;
  try {
    await requestStop(stateDir, runId);
    const until = performance.now() + timeoutMs;
    for (;;) {
      const now = await find();
      const is = now === undefined ? "ended" : (await describeRun(now)).state;
      if (is === "ended") return "stopped";
      if (is !== "running") return is;
      if (performance.now() >= until) return "no_answer";
      await delay(POLL_MS);
    }
  } finally {
    // Also when it was stopped: of two requests at once the supervisor sees one.
    await withdrawStop(stateDir, runId);
  }
}
