// Ends what a dead supervisor left: the agent's tree when the agent's identity is proven, and what carries the run's marker or that of its
// persistent guards. Nothing else is signalled, whatever pid a record names.

import { type Kill, startTimeOf, sweepMarker } from "../exec/sweep.ts";
import { watchTree } from "../exec/tree-watch.ts";
import { guardMarker, RUN_MARKER } from "../spawn/environment.ts";
import type { Extinction } from "../spawn/result.ts";
import { livingMembers, kill as realKill, sweepTree } from "../spawn/stop.ts";

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

interface LostTree {
  readonly agent:
    | { readonly pid: number; readonly startTime: string | null; readonly groupId: number }
    | undefined;
  readonly marker: string;
  readonly kill?: Kill;
}

/** The agent first: nothing answers its gates any more. */
export async function endLostTree({ agent, marker, kill = realKill }: LostTree): Promise<EndedTree> {
  const ended = await endAgent({ agent, marker, kill });
  const { survivors } = await sweepMarker({
    name: RUN_MARKER,
    value: guardMarker(marker),
    kill,
    quietLooks: 2,
  });
  if (survivors.length === 0) return ended;
  const { extinction } = ended;
  const pids = [...new Set([...extinction.survivors, ...survivors.map(({ pid }) => pid)])];
  return { ...ended, extinction: { ...extinction, state: "unproven", survivors: pids } };
}

async function endAgent({ agent, marker, kill = realKill }: LostTree): Promise<EndedTree> {
  const found = findAgent(agent);
  if (agent !== undefined && found === "ended") {
    const { pid, startTime, groupId } = agent;
    const tree = watchTree({ pid, startTime: startTime ?? undefined, groupId });
    return { agent: found, extinction: await sweepTree({ groupId, marker, tree, kill }) };
  }
  const { supported, survivors } = await sweepMarker({
    name: RUN_MARKER,
    value: marker,
    kill,
    quietLooks: 2,
  });
  // In the group of an agent that is gone, without the marker: perhaps its own, perhaps not.
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
