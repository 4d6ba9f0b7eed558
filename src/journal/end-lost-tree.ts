// Ends what a dead supervisor left: the agent's tree when the agent's identity is proven, and what carries the run's marker. Nothing else
// is signalled, whatever pid a record names.

import { setTimeout as delay } from "node:timers/promises";
import { listProcesses, treeOf } from "../exec/process-tree.ts";
import { type Kill, type MarkedProcess, startTimeOf, sweepMarker } from "../exec/sweep.ts";
import { RUN_MARKER } from "../spawn/environment.ts";
import type { Extinction } from "../spawn/result.ts";
import { kill as realKill, sweepTree } from "../spawn/stop.ts";

/** What the agent's recorded process was found to be. */
export type AgentFound =
  /** It lived, and was ended. */
  | "ended"
  /** There was no such process any more. */
  | "gone"
  /** Its pid is another process's: not signalled. */
  | "identity_mismatch"
  /** None was recorded. */
  | "never_started";

export interface EndedTree {
  readonly agent: AgentFound;
  readonly extinction: Extinction;
}

const LOOKS = 100;

export async function endLostTree({
  agent,
  marker,
  kill = realKill,
}: {
  agent: { readonly pid: number; readonly startTime: string | null; readonly groupId: number } | undefined;
  marker: string;
  kill?: Kill;
}): Promise<EndedTree> {
  const found = findAgent(agent);
  // Before anything is killed: afterwards the children's parent is init.
  const processes = listProcesses();
  const tree = agent !== undefined && found === "ended" ? treeOf(agent.pid, processes) : [];
  if (agent !== undefined && found === "ended") {
    const first = await sweepTree({ groupId: agent.groupId, marker });
    const left = await endEach(tree, kill);
    const survivors = [...new Set([...first.survivors, ...left.map(({ pid }) => pid)])];
    const state = survivors.length === 0 ? first.state : "unproven";
    return { agent: found, extinction: { state, method: `tree+${first.method}`, survivors } };
  }
  const { supported, survivors } = await sweepMarker({
    name: RUN_MARKER,
    value: marker,
    kill,
    quietLooks: 2,
  });
  const leftOfGroup = found === "gone" ? livingMembers(agent?.groupId) : [];
  const pids = [...new Set([...survivors.map(({ pid }) => pid), ...leftOfGroup])];
  return {
    agent: found,
    extinction: {
      state: supported && pids.length === 0 ? "swept" : "unproven",
      method: supported ? "marker" : "none",
      survivors: pids,
    },
  };
}

function findAgent(agent: { pid: number; startTime: string | null } | undefined): AgentFound {
  if (agent === undefined || agent.startTime === null) return "never_started";
  const startTime = startTimeOf(agent.pid);
  if (startTime === undefined) return "gone";
  return startTime === agent.startTime ? "ended" : "identity_mismatch";
}

/** In the group of an agent that is gone, without the marker: perhaps its own, perhaps not. Told, not signalled. */
function livingMembers(groupId: number | undefined): number[] {
  return listProcesses()
    .filter((it) => it.groupId === groupId && it.isAlive)
    .map(({ pid }) => pid);
}

/** Ends each process that is still the one listed. Returns those that stay. */
async function endEach(tree: readonly MarkedProcess[], kill: Kill): Promise<MarkedProcess[]> {
  let left = tree;
  for (let look = 0; look < LOOKS && left.length > 0; look++) {
    const alive = new Set(
      listProcesses()
        .filter((it) => it.isAlive)
        .map(keyOf),
    );
    left = left.filter((it) => alive.has(keyOf(it)));
    for (const { pid, startTime } of left) {
      if (startTimeOf(pid) !== startTime) continue;
      try {
        kill(pid, "SIGKILL");
      } catch {
        // Gone between look and signal: the next look says so.
      }
    }
    if (left.length > 0) await delay(10);
  }
  return [...left];
}

function keyOf({ pid, startTime }: MarkedProcess): string {
  return `${pid} ${startTime}`;
}
