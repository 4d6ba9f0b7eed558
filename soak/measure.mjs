// @ts-check
// What a process and a folder hold, by looking: descriptors, memory, processes, files. Ends nothing and changes nothing.

import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Open descriptors of this process, the one of the look itself apart. */
export const openDescriptors = () => readdirSync("/proc/self/fd").length - 1;

/** Bytes of this process after a full collection: resident, and of live objects. */
export function memoryInUse() {
  if (globalThis.gc === undefined) throw new Error("node needs --expose-gc here");
  globalThis.gc();
  globalThis.gc();
  const { rss, heapUsed: heap } = process.memoryUsage();
  return { rss, heap };
}

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // ended meanwhile, or another user's
  }
}

/** @param {string} path */
function linkOf(path) {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // ended meanwhile, or another user's
  }
}

/** @param {string} pid */
function isAlive(pid) {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat !== "" && !"ZX".includes(stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "");
}

/**
 * Living processes other than this one that carry the marker of a run, have the folder as HOME or work below it.
 * @param {{ folder: string, runIds: ReadonlySet<string> }} of
 */
export function livingProcesses({ folder, runIds }) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    const variables = readIfThere(`/proc/${pid}/environ`).split("\0");
    const marker = variables.find((it) => it.startsWith("BRIDLE_RUN_MARKER="))?.slice(18) ?? "";
    const isOurs =
      marker.split(":").some((it) => runIds.has(it)) ||
      variables.includes(`HOME=${folder}`) ||
      linkOf(`/proc/${pid}/cwd`).startsWith(folder);
    return isOurs && isAlive(pid);
  });
}

/** Children of this process that are a watchdog. */
export function watchdogs() {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => readIfThere(`/proc/${pid}/status`).includes(`\nPPid:\t${process.pid}\n`))
    .filter((pid) => readIfThere(`/proc/${pid}/cmdline`).includes("bridle-watchdog"));
}

/** Names in a folder, none when it is not there. @param {string[]} path */
export function namesIn(...path) {
  const folder = join(...path);
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Waits until the look finds what is wanted, at most for the deadline; returns the last look. @template T @param {() => T} look @param {(found: T) => boolean} isWanted */
export async function settle(look, isWanted, deadlineMs = 10_000) {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const found = look();
    if (isWanted(found) || performance.now() > until) return found;
    await delay(50);
  }
}
