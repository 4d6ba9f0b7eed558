// The PID namespace of one run, seen from outside: everything the agent starts lives in it and ends when its first process ends. Nothing
// inside can leave it, and nothing inside can signal what is outside. How one is made: namespace-recipe.ts.

import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { readProcText } from "../exec/read-proc.ts";
import { shareLook } from "../exec/share-look.ts";
import { type Kill, type MarkedProcess, signalIfSame, startTimeOf } from "../exec/sweep.ts";
import { walkProcesses } from "../exec/walk-processes.ts";

/** A namespace that is there. Pids are as seen from here. */
export interface PidNamespace {
  /** The namespace's first process. */
  readonly init: MarkedProcess;
  /** The CLI: signals for a clean stop go to it. */
  readonly cli: MarkedProcess;
  /** Kernel's name of the namespace, for example `pid:[4026532281]`. It is no other's until `release`. */
  readonly name: string;
  /** Lets go of the name. May be called again. */
  release(): void;
}

/** Looks for the namespace below a process that was started with the recipe; undefined when its CLI has not started yet or has ended. */
export function findNamespace(pid: number): PidNamespace | undefined {
  // setpriv becomes unshare; unshare's child is the first process; its child is the CLI.
  const initPid = childOf(pid);
  const cliPid = initPid === undefined ? undefined : childOf(initPid);
  if (initPid === undefined || cliPid === undefined) return undefined;
  const init = identify(initPid);
  const cli = identify(cliPid);
  if (init === undefined || cli === undefined || namespaceOf(initPid) === ownNamespace()) return undefined;
  let file: number | undefined;
  try {
    // The kernel gives the number of a namespace that nobody holds to the next one, which may be another run's.
    file = openSync(`/proc/${initPid}/ns/pid`, "r");
  } catch {
    return undefined; // ended meanwhile
  }
  const held = file;
  const release = () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  if (startTimeOf(initPid) !== init.startTime) {
    release();
    return undefined;
  }
  return { init, cli, name: `pid:[${fstatSync(held).ino}]`, release };
}

/** Processes that live in the namespace, zombies apart. */
export async function membersOf(name: string): Promise<number[]> {
  return ((await lookAtNamespaces()).get(name) ?? []).filter((pid) => !isZombie(pid));
}

/** Pids of all processes by the kernel's name of their namespace. */
const lookAtNamespaces = shareLook(async () => {
  const members = new Map<string, number[]>();
  await walkProcesses((pid) => {
    const name = namespaceOf(pid);
    if (name === undefined) return;
    const known = members.get(name);
    if (known === undefined) members.set(name, [pid]);
    else known.push(pid);
  });
  return members;
});

/**
 * Ends the namespace's first process, and the kernel everything in it. Resolves with the members that stay: none, once the first process is
 * gone and no process names the namespace; those that are still there after `deadlineMs`.
 */
export async function endNamespace(
  { init, name }: PidNamespace,
  { kill, deadlineMs = 5_000 }: { kill: Kill; deadlineMs?: number },
): Promise<number[]> {
  signalIfSame(kill, init, "SIGKILL");
  const until = performance.now() + deadlineMs;
  for (;;) {
    // The kernel lets it die only when all others are dead, also those in a namespace below this one.
    const isInitThere = startTimeOf(init.pid) === init.startTime && !isZombie(init.pid);
    const left = await membersOf(name);
    if (!isInitThere && left.length === 0) return [];
    if (performance.now() > until) return left.length > 0 ? left : [init.pid];
    await delay(5);
  }
}

function identify(pid: number): MarkedProcess | undefined {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined; // ended meanwhile, or another user's
  }
}

/** The only child of a process that has one thread. */
function childOf(pid: number): number | undefined {
  const first = readProcText(`/proc/${pid}/task/${pid}/children`)?.split(" ")[0];
  return first ? Number(first) : undefined;
}

let own: string | undefined;

function ownNamespace(): string | undefined {
  own ??= namespaceOf(process.pid);
  return own;
}

function isZombie(pid: number): boolean {
  const stat = readProcText(`/proc/${pid}/stat`);
  return stat === undefined || "ZX".includes(stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "");
}
