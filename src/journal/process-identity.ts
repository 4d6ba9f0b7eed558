// Who a process is: pid, start time, boot, machine and pid namespace. A pid alone says nothing: it may be another's by now, and a state
// directory may be shared by containers or machines.

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { startTimeOf } from "../exec/sweep.ts";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot; null where there is no /proc. */
  readonly startTime: string | null;
  /** Changes with every boot of the kernel; null where there is no /proc. */
  readonly bootId: string | null;
  /** In which pids are counted; null where there is no /proc. */
  readonly pidNamespace: string | null;
  /** Name of the host and /etc/machine-id: tells a reboot from another machine. */
  readonly machine: string;
}

function orNull(read: () => string): string | null {
  try {
    return read().trim();
  } catch {
    return null; // no /proc
  }
}

let own: ProcessIdentity | undefined;

/** Of this process. Read once: nothing of it changes while the process lives. */
export function ownIdentity(): ProcessIdentity {
  own ??= Object.freeze({
    pid: process.pid,
    startTime: startTimeOf(process.pid) ?? null,
    bootId: orNull(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
    pidNamespace: orNull(() => readlinkSync("/proc/self/ns/pid")),
    machine: `${hostname()} ${orNull(() => readFileSync("/etc/machine-id", "utf8")) ?? ""}`,
  });
  return own;
}

/**
 * `elsewhere`: on another machine or in another pid namespace, so its pids cannot be seen from here and nothing is known. Without /proc a pid that exists counts as alive.
 */
export type Presence = "alive" | "gone" | "rebooted" | "elsewhere";

export function presenceOf(identity: ProcessIdentity, from: ProcessIdentity = ownIdentity()): Presence {
  if (identity.bootId !== from.bootId) return identity.machine === from.machine ? "rebooted" : "elsewhere";
  if (identity.pidNamespace !== from.pidNamespace) return "elsewhere";
  if (identity.startTime === null) return exists(identity.pid) ? "alive" : "gone";
  return startTimeOf(identity.pid) === identity.startTime ? livingState(identity.pid) : "gone";
}

/** A zombie is dead: nobody supervises in it. */
function livingState(pid: number): "alive" | "gone" {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  const state = stat?.slice(stat.lastIndexOf(")") + 2)[0];
  return state === undefined || state === "Z" || state === "X" ? "gone" : "alive";
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
