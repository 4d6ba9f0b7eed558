// Ends one process group: SIGTERM, a grace period, SIGKILL. Must only be given the id of a group that we started.

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

/** Resolves when the group is empty or has been sent SIGKILL. */
export async function endGroup({
  kill,
  groupId,
  graceMs,
}: {
  kill: Kill;
  groupId: number;
  graceMs: number;
}): Promise<void> {
  const until = performance.now() + graceMs;
  let alive = signalGroup(kill, groupId, "SIGTERM");
  while (alive && performance.now() < until) {
    await delay(POLL_MS);
    alive = signalGroup(kill, groupId, 0);
  }
  if (alive) signalGroup(kill, groupId, "SIGKILL");
}
