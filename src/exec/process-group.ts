// Ends one process group: SIGTERM, a grace period, SIGKILL. Must only be given the id of a group that we started.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Kill } from "./sweep.ts";

const POLL_MS = 20;

/** True while the group has a member, also one that is a zombie. */
export function signalGroup(kill: Kill, groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    kill(-groupId, signal as NodeJS.Signals);
    return true;
  } catch {
    return false; // ESRCH: empty. EPERM (macOS, zombies only): nothing left that a signal could reach.
  }
}

/** True while a member of the group lives; a zombie that init has not reaped is dead. Without /proc a zombie counts as alive. */
export function isGroupAlive(kill: Kill, groupId: number, procRoot = "/proc"): boolean {
  if (!signalGroup(kill, groupId, 0)) return false;
  if (!existsSync(`${procRoot}/self/stat`)) return true;
  return readdirSync(procRoot).some(
    (entry) => /^\d+$/.test(entry) && isLiveMember(`${procRoot}/${entry}/stat`, groupId),
  );
}

function isLiveMember(statPath: string, groupId: number): boolean {
  try {
    const stat = readFileSync(statPath, "latin1");
    // After the name in parentheses, which may hold anything: state, parent, group.
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(group) === groupId && state !== "Z" && state !== "X";
  } catch {
    return false; // ended meanwhile
  }
}

/** Resolves when the group is empty or has been sent SIGKILL. */
export async function endGroup({
  kill,
  groupId,
  graceMs,
  procRoot = "/proc",
}: {
  kill: Kill;
  groupId: number;
  graceMs: number;
  /** @default "/proc" */
  procRoot?: string;
}): Promise<void> {
  const until = performance.now() + graceMs;
  let alive = signalGroup(kill, groupId, "SIGTERM");
  while (alive && performance.now() < until) {
    await delay(POLL_MS);
    alive = isGroupAlive(kill, groupId, procRoot);
  }
  if (alive) signalGroup(kill, groupId, "SIGKILL");
}
