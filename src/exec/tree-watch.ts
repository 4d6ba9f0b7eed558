// Remembers who belonged to a process tree. Each look adds the children of those already known; a process that is known stays known when
// its parent is gone. Whoever was not there at any look, and whose parent was gone at the next one, is not known.

import { setTimeout as delay } from "node:timers/promises";
import { type ListedProcess, listProcesses, treesOf } from "./process-tree.ts";
import { type Kill, type MarkedProcess, signalIfSame, startTimeOf } from "./sweep.ts";

export interface TreeWatch {
  /**
   * Looks at the process table once and returns those of the tree that live. `isGroupOurs`: nobody else can have the group's id yet, so its
   * members belong to the tree.
   */
  look(options?: { isGroupOurs?: boolean }): MarkedProcess[];
  /** Takes processes that are known by something else, so that what they have started is found at the next look. */
  add(processes: readonly MarkedProcess[]): void;
  /** True when the last look saw a living member of the group that belongs to the tree; also where there is no /proc to tell. */
  ownsGroup(): boolean;
}

/** Watches the tree below a process that is there now. */
export function watchTree({
  pid,
  startTime = startTimeOf(pid),
  groupId,
  procRoot = "/proc",
}: {
  pid: number;
  /** @default what /proc says now */
  startTime?: string | undefined;
  groupId: number;
  /** @default "/proc" */
  procRoot?: string;
}): TreeWatch {
  const known = new Set<string>();
  if (startTime !== undefined) known.add(keyOf({ pid, startTime }));
  const isKnown = (it: ListedProcess) => known.has(keyOf(it));
  let isOwner = false;
  return {
    look({ isGroupOurs = false } = {}) {
      const processes = listProcesses(procRoot);
      const inGroup = processes.filter((it) => it.groupId === groupId);
      const members = isGroupOurs || inGroup.some(isKnown) ? inGroup : [];
      const roots = [...processes.filter(isKnown), ...members].map((it) => it.pid);
      for (const it of treesOf(roots, processes)) if (it.pid !== process.pid) known.add(keyOf(it));
      const alive = processes.filter((it) => it.isAlive && isKnown(it));
      isOwner = processes.length === 0 || alive.some((it) => it.groupId === groupId);
      return alive;
    },
    add(processes) {
      for (const it of processes) known.add(keyOf(it));
    },
    ownsGroup: () => isOwner,
  };
}

/** Ends everything that is known, and what that starts meanwhile, until two looks in a row find nothing. Returns what stays. */
export async function endWatched(
  watch: TreeWatch,
  { kill, deadlineMs = 2_000 }: { kill: Kill; deadlineMs?: number },
): Promise<MarkedProcess[]> {
  const until = performance.now() + deadlineMs;
  for (let quiet = 0; ; ) {
    const alive = watch.look();
    quiet = alive.length === 0 ? quiet + 1 : 0;
    if (quiet >= 2 || performance.now() > until) return alive;
    for (const it of alive) signalIfSame(kill, it, "SIGKILL");
    await delay(alive.length === 0 ? 2 : 10);
  }
}

function keyOf({ pid, startTime }: MarkedProcess): string {
  return `${pid} ${startTime}`;
}
