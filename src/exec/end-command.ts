// Ends what we started and what came of it: the process group, then everything that carries the marker. Must only be given a process that
// we started in a group of its own.

import { setTimeout as delay } from "node:timers/promises";
import { HOOK_MARKER } from "./hook-env.ts";
import { endGroup, signalGroup } from "./process-group.ts";
import { type Kill, sweepMarker } from "./sweep.ts";

/** Between SIGTERM and SIGKILL unless the caller says otherwise. */
export const GRACE_MS = 2_000;

/** SIGTERM to the group, SIGKILL after the grace, then a moment for the kernel. */
export async function endCommand({
  pid,
  exited,
  kill,
  graceMs,
}: {
  pid: number;
  exited: Promise<unknown>;
  kill: Kill;
  graceMs: number;
}): Promise<void> {
  await endGroup({ kill, groupId: pid, graceMs });
  await Promise.race([exited, delay(graceMs)]); // SIGKILL was sent; a process in the kernel's hands may take longer
}

/** What was left of a command that has ended, and is ended now. */
export interface Remains {
  /** Processes that carried the marker. */
  readonly found: number;
  /** The group had members. */
  readonly groupLeft: boolean;
}

/** Call right after the end: the group's id is free for others then. */
export async function endRemains({
  pid,
  marker,
  kill,
  sincePid,
}: {
  pid: number;
  marker: string;
  kill: Kill;
  /** As in `FindOptions`; only of a command that has not run for long. */
  sincePid?: number;
}): Promise<Remains> {
  const { found } = await sweepMarker({
    name: HOOK_MARKER,
    value: marker,
    kill,
    ...(sincePid === undefined ? {} : { sincePid }),
  });
  // Members that cleared their environment are still in the group.
  return { found, groupLeft: signalGroup(kill, pid, "SIGKILL") };
}
