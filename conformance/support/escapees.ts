// Processes that get away from a CLI's shell tool. Each says its own pid in a file; a pid said in a PID namespace is looked up from
// outside. Told by pid and start time from then on: a pid that another process has by now is not it, and a zombie is dead.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { signalIfSame, startTimeOf } from "../../src/exec/sweep.ts";
import type { Site } from "./harness.ts";

export interface Escapee {
  /** As seen from here. */
  readonly pid: number;
  readonly startTime: string;
}

/** A shell's words that write its own pid to `pids/NAME`, at once or not at all. */
export const say = (name: string): string => `echo $$ >pids/.${name}; mv pids/.${name} pids/${name}`;

/** Everything alive that works in the site, whatever it did to its name, its session and its environment. */
export function livingIn({ root }: Site): Escapee[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => linkOf(`/proc/${pid}/cwd`).startsWith(`${root}/`))
    .map((pid) => ({ pid: Number(pid), startTime: startTimeOf(Number(pid)) ?? "" }))
    .filter(isAlive);
}

/** Undefined until it has said its pid, and when nothing that works in the site has it. */
export function findEscapee(site: Site, name: string): Escapee | undefined {
  const said = readIfThere(join(site.project, "pids", name)).trim();
  if (said === "") return undefined;
  // The last of these is the pid in the innermost namespace: the one that the process itself knows.
  return livingIn(site).find(
    ({ pid }) => /^NSpid:.*\s(\d+)$/m.exec(readIfThere(`/proc/${pid}/status`))?.[1] === said,
  );
}

export function isAlive({ pid, startTime }: Escapee): boolean {
  const stat = readIfThere(`/proc/${pid}/stat`);
  const state = stat.slice(stat.lastIndexOf(")") + 2)[0];
  return stat !== "" && state !== "Z" && state !== "X" && startTimeOf(pid) === startTime;
}

export function endAllIn(site: Site): void {
  for (const found of livingIn(site)) signalIfSame(process.kill, found, "SIGKILL");
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // ended meanwhile, or another user's
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // ended meanwhile, or not said yet
  }
}
