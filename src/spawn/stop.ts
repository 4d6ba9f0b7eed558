// Ends a run's process tree: clean stop, grace, KILL to the group and the namespace, then a look for what is left. Every step goes through
// one kill function, and no process is signalled whose pid may be another's.

import { setTimeout as delay } from "node:timers/promises";
import { isGroupAlive, signalGroup } from "../exec/process-group.ts";
import { listProcesses } from "../exec/process-tree.ts";
import { findByMarker, type Kill, signalIfSame, sweepMarker } from "../exec/sweep.ts";
import { endWatched, type TreeWatch } from "../exec/tree-watch.ts";
import type { ProviderAdapter } from "../render/provider.ts";
import type { HeldChild, ProviderChild } from "./child.ts";
import { RUN_MARKER } from "./environment.ts";
import type { ChildHands } from "./life.ts";
import { endNamespace, type PidNamespace } from "./pid-namespace.ts";
import type { Extinction } from "./result.ts";

export const kill: Kill = (pid, signal) => {
  process.kill(pid, signal);
};

/** Signals the CLI itself: what holds its namespace ignores signals. */
function signalCli({ pid, namespace, hasExited }: ProviderChild, signal: NodeJS.Signals): void {
  if (hasExited) return;
  if (namespace === undefined) kill(pid, signal);
  else signalIfSame(kill, namespace.cli, signal);
}

/** Asks the provider to stop in its own way. */
export function askToStop(child: ProviderChild, { cleanStop }: ProviderAdapter): void {
  if (child.hasExited) return;
  child.tree?.look();
  if (cleanStop.stdinLine !== undefined && child.stdin.writable)
    child.stdin.write(`${cleanStop.stdinLine}\n`);
  else signalCli(child, cleanStop.signal);
}

/** SIGTERM to the CLI, whose stdin is gone with it. */
export function terminateChild(child: ProviderChild): void {
  if (child.hasExited) return;
  child.stdin.destroy();
  child.tree?.look();
  signalCli(child, "SIGTERM");
}

/** KILL to the group, and to the namespace's first process. Who belongs to the tree is noted first: afterwards orphans belong to init. */
export function killChild({ hasExited, tree, namespace, groupId }: ProviderChild): void {
  if (hasExited) return;
  tree?.look();
  signalGroup(kill, groupId, "SIGKILL");
  if (namespace !== undefined) signalIfSame(kill, namespace.init, "SIGKILL");
}

/** What there is to do to a child that is not the CLI yet: nothing but to end it. */
export function handsOfHeld(held: HeldChild, marker: string): ChildHands {
  const nothing = () => {};
  return {
    askToStop: nothing,
    terminate: nothing,
    kill: held.kill,
    closeInput: nothing,
    drain: nothing,
    giveUpOutput: nothing,
    silenceMs: () => undefined,
    async endTree() {
      held.kill();
      await held.exited;
      return sweepTree({ groupId: held.groupId, marker, tree: undefined });
    },
  };
}

const endings = new WeakMap<ProviderChild, Promise<Extinction>>();

/** On every path, natural exit included: ends what is left of the child and of everything it started. One ending for all callers. */
export function endTree(child: ProviderChild, marker: string): Promise<Extinction> {
  const ending = endings.get(child) ?? endOnce(child, marker);
  endings.set(child, ending);
  return ending;
}

function endOnce(child: ProviderChild, marker: string): Promise<Extinction> {
  killChild(child);
  const { namespace, tree, groupId } = child;
  return namespace === undefined
    ? sweepTree({ groupId, marker, tree })
    : emptyNamespace(namespace, marker).finally(namespace.release);
}

/** Proven only when the namespace was seen empty and nothing outside carries the marker; else the survivors are named. */
export async function emptyNamespace(
  namespace: PidNamespace,
  marker: string,
  options: { kill: Kill; deadlineMs?: number } = { kill },
): Promise<Extinction> {
  const left = await endNamespace(namespace, options);
  const outside = await sweepMarker({ name: RUN_MARKER, value: marker, quietLooks: 2, ...options });
  const survivors = [...new Set([...left, ...outside.survivors.map(({ pid }) => pid)])];
  return { state: survivors.length === 0 ? "proven" : "unproven", method: "pidns", survivors };
}

/** What is known of the tree, what is left of the group, then everything that carries the run's marker, until all is quiet. */
export async function sweepTree({
  groupId,
  marker,
  tree,
  kill: send = kill,
}: {
  groupId: number;
  marker: string;
  /** Undefined when nothing was seen of it: then the group is not signalled. */
  tree: TreeWatch | undefined;
  /** @default process.kill */
  kill?: Kill;
}): Promise<Extinction> {
  // Their children may have no marker.
  tree?.add(findByMarker(RUN_MARKER, marker).processes);
  tree?.look();
  if (tree?.ownsGroup() === true) signalGroup(send, groupId, "SIGKILL");
  const known = tree === undefined ? [] : await endWatched(tree, { kill: send });
  const marked = await sweepMarker({ name: RUN_MARKER, value: marker, kill: send, quietLooks: 2 });
  // What the marker led to may have been the parent of what is known.
  const late = tree === undefined || marked.found === 0 ? [] : await endWatched(tree, { kill: send });
  const isGroupLeft = await groupStaysAlive(groupId);
  const members = isGroupLeft ? livingMembers(groupId) : [];
  const pids = [...known, ...late, ...marked.survivors].map(({ pid }) => pid);
  const survivors = [...new Set([...pids, ...members])];
  const isEmpty = survivors.length === 0 && !isGroupLeft;
  return {
    state: marked.supported && isEmpty ? "swept" : "unproven",
    method: marked.supported ? "tree+group+marker" : "group",
    survivors,
  };
}

/** In the group and alive: perhaps another's by now. Told, not signalled. */
export function livingMembers(groupId: number | undefined): number[] {
  return listProcesses()
    .filter((it) => it.groupId === groupId && it.isAlive)
    .map(({ pid }) => pid);
}

/** A killed group needs a moment to be reaped by init. */
async function groupStaysAlive(groupId: number): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    if (!isGroupAlive(kill, groupId)) return false;
    await delay(20);
  }
  return true;
}
