// Ends a run's process tree: clean stop, grace, group KILL, sweep by marker. Every step goes through one kill function.

import { setTimeout as delay } from "node:timers/promises";
import { isGroupAlive, signalGroup } from "../exec/process-group.ts";
import { type Kill, sweepMarker } from "../exec/sweep.ts";
import type { ProviderAdapter } from "../render/provider.ts";
import type { ProviderChild } from "./child.ts";
import { RUN_MARKER } from "./environment.ts";
import type { Extinction } from "./result.ts";

export const kill: Kill = (pid, signal) => {
  process.kill(pid, signal);
};

/** Asks the provider to stop in its own way. The child is ours and not yet reaped, so its pid is still its own. */
export function askToStop(
  child: ProviderChild,
  { cleanStop }: ProviderAdapter,
  { hasExited }: { hasExited: boolean },
): void {
  if (hasExited) return;
  if (cleanStop.stdinLine !== undefined && child.stdin.writable)
    child.stdin.write(`${cleanStop.stdinLine}\n`);
  else kill(child.pid, cleanStop.signal);
}

/** Clean stop, then TERM at half of `stopMs`, then KILL to the group at `stopMs`. Resolves when the child has exited. */
export async function stopChild(
  child: ProviderChild,
  adapter: ProviderAdapter,
  stopMs: number,
): Promise<void> {
  let hasExited = false;
  const exited = child.exited.then(() => {
    hasExited = true;
  });
  const wait = (ms: number) => {
    const timer = new AbortController();
    return Promise.race([exited, delay(ms, undefined, { signal: timer.signal }).catch(() => {})]).finally(
      () => timer.abort(),
    );
  };
  askToStop(child, adapter, { hasExited });
  await wait(stopMs / 2);
  if (hasExited) return;
  child.stdin.destroy();
  kill(child.pid, "SIGTERM");
  await wait(stopMs / 2);
  if (!hasExited) signalGroup(kill, child.groupId, "SIGKILL");
  await exited;
}

/** On every path, natural exit included: what is left of the group, then everything that carries the run's marker. */
export async function sweepTree({
  groupId,
  marker,
}: {
  groupId: number;
  marker: string;
}): Promise<Extinction> {
  signalGroup(kill, groupId, "SIGKILL");
  const { supported, survivors } = await sweepMarker({
    name: RUN_MARKER,
    value: marker,
    kill,
    quietLooks: 2,
  });
  const isEmpty = survivors.length === 0 && !(await groupStaysAlive(groupId));
  return {
    state: supported && isEmpty ? "swept" : "unproven",
    method: supported ? "group+marker" : "group",
    survivors: survivors.map(({ pid }) => pid),
  };
}

/** A killed group needs a moment to be reaped by init. */
async function groupStaysAlive(groupId: number): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    if (!isGroupAlive(kill, groupId)) return false;
    await delay(20);
  }
  return true;
}
