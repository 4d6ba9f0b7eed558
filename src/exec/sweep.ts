// Finds processes by a variable in their environment and ends them. Signals go only to a process whose identity (pid and
// start time) is the one that carried the marker. Best effort: a process that cleared its environment is not found.

import { existsSync, readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { readProc, readProcText } from "./read-proc.ts";
import { shareLook } from "./share-look.ts";
import { walkProcesses } from "./walk-processes.ts";

export type Kill = (pid: number, signal: NodeJS.Signals) => void;

export interface MarkedProcess {
  readonly pid: number;
  /** Clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly startTime: string;
}

export interface MarkedProcesses {
  /** False where there is no /proc (macOS): nothing was looked for. */
  readonly supported: boolean;
  readonly processes: readonly MarkedProcess[];
  /** Living processes that show no environment: one that cleared it, or one in the middle of exec. */
  readonly bare: number;
}

export interface SweepResult {
  readonly supported: boolean;
  /** Different processes seen with the marker. */
  readonly found: number;
  /** Still there at the end. */
  readonly survivors: readonly MarkedProcess[];
}

export interface FindOptions {
  /** @default "/proc" */
  readonly procRoot?: string;
  /** Only processes created after this one need to be looked at. Used while the kernel has not wrapped its pids since. */
  readonly sincePid?: number;
}

const SIGNAL_INTERVAL_MS = 10;

/** At once: each read is one page of kernel memory. Not for the end of a run, where hundreds of others may be under way. */
export function findByMarker(
  name: string,
  value: string,
  { procRoot = "/proc", sincePid }: FindOptions = {},
): MarkedProcesses {
  return pick(listMarked(name, { procRoot, sincePid }), value);
}

/** Every process with the variable, by the parts of its value, and how many show no environment; undefined where there is no /proc. */
interface Marked {
  readonly byPart: ReadonlyMap<string, readonly MarkedProcess[]>;
  readonly bare: number;
}

function pick(marked: Marked | undefined, value: string): MarkedProcesses {
  if (marked === undefined) return { supported: false, processes: [], bare: 0 };
  return { supported: true, processes: marked.byPart.get(value) ?? [], bare: marked.bare };
}

function listMarked(
  name: string,
  { procRoot, sincePid }: { procRoot: string; sincePid?: number | undefined },
): Marked | undefined {
  if (!existsSync(`${procRoot}/self/environ`)) return undefined;
  const from = sincePid !== undefined && lastPid(procRoot) >= sincePid ? sincePid : 0;
  const found = collectMarked(name, procRoot);
  for (const entry of readdirSync(procRoot)) {
    const pid = Number(entry);
    if (Number.isInteger(pid) && pid >= from) found.look(pid);
  }
  return found.marked();
}

/** The same of all processes, in slices. */
async function walkMarked(name: string): Promise<Marked | undefined> {
  if (!existsSync("/proc/self/environ")) return undefined;
  const found = collectMarked(name, "/proc");
  await walkProcesses(found.look);
  return found.marked();
}

function collectMarked(name: string, procRoot: string): { look(pid: number): void; marked(): Marked } {
  const needle = Buffer.from(`\0${name}=`);
  const byPart = new Map<string, MarkedProcess[]>();
  let bare = 0;
  return {
    look(pid) {
      if (pid === process.pid) return;
      const environ = readProc(`${procRoot}/${pid}/environ`);
      if (environ === undefined) return;
      if (environ.length === 0 && isLivingUserProcess(procRoot, pid)) bare += 1;
      const parts = partsOf(environ, needle);
      if (parts.length === 0) return;
      const startTime = startTimeOf(pid, procRoot);
      if (startTime === undefined) return;
      for (const part of new Set(parts)) byPart.set(part, [...(byPart.get(part) ?? []), { pid, startTime }]);
    },
    marked: () => ({ byPart, bare }),
  };
}

/** By the name of the variable. */
const looks = new Map<string, () => Promise<Marked | undefined>>();

/** As `findByMarker`, in a look that is shared with whoever else looks for the same variable. */
async function findByMarkerTogether(
  name: string,
  value: string,
  options: FindOptions,
): Promise<MarkedProcesses> {
  const { procRoot = "/proc", sincePid } = options;
  // A part of all processes, or another table, is nobody else's.
  if (sincePid !== undefined || procRoot !== "/proc") return findByMarker(name, value, options);
  const look = looks.get(name) ?? shareLook(() => walkMarked(name));
  looks.set(name, look);
  return pick(await look(), value);
}

/** Ends every process that carries the marker, again until none is left or `deadlineMs` has passed (a fork can outrun one scan). */
export async function sweepMarker({
  name,
  value,
  kill = (pid, signal) => process.kill(pid, signal),
  signal = "SIGKILL",
  deadlineMs = 2_000,
  quietLooks = 1,
  procRoot,
  sincePid,
}: {
  name: string;
  value: string;
  kill?: Kill;
  signal?: NodeJS.Signals;
  deadlineMs?: number;
  /** Scans in a row that must find nothing. @default 1, and 2 when a living process shows no environment */
  quietLooks?: number;
} & FindOptions): Promise<SweepResult> {
  const options: FindOptions = {
    ...(procRoot === undefined ? {} : { procRoot }),
    ...(sincePid === undefined ? {} : { sincePid }),
  };
  const seen = new Set<string>();
  const until = performance.now() + deadlineMs;
  let wanted = quietLooks;
  let hasSignalled = false;
  for (let quiet = 0; ; ) {
    const { supported, processes, bare } = await findByMarkerTogether(name, value, options);
    for (const found of processes) seen.add(`${found.pid} ${found.startTime}`);
    quiet = processes.length === 0 ? quiet + 1 : 0;
    // What shows no environment may be in the middle of exec and show the marker at the next look.
    if (bare > 0) wanted = Math.max(wanted, 2);
    // A look may outlast the deadline on a busy machine: what it finds is signalled all the same, and looked for once more.
    const isLate = hasSignalled && performance.now() >= until;
    if (quiet >= wanted || !supported || isLate) {
      return { supported, found: seen.size, survivors: processes };
    }
    for (const it of processes) signalIfSame(kill, it, signal, procRoot);
    hasSignalled ||= processes.length > 0;
    await delay(SIGNAL_INTERVAL_MS);
  }
}

/** Signals a process while its pid is still its own. */
export function signalIfSame(
  kill: Kill,
  { pid, startTime }: MarkedProcess,
  signal: NodeJS.Signals,
  procRoot = "/proc",
): void {
  if (startTimeOf(pid, procRoot) !== startTime) return;
  try {
    kill(pid, signal);
  } catch {
    // Gone between check and signal, or not ours: the next scan says which, and a survivor is reported.
  }
}

/** Undefined when there is no such process. */
export function startTimeOf(pid: number, procRoot = "/proc"): string | undefined {
  const stat = readProcText(`${procRoot}/${pid}/stat`);
  // The second field is the program's name in parentheses and may hold anything; the 22nd is the 20th after it.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** Markers nest as `outer:inner`, so a run inside a run is found by both. `needle` begins with the NUL that ends the variable before. */
function partsOf(environ: Buffer, needle: Buffer): string[] {
  const isFirst = environ.subarray(0, needle.length - 1).equals(needle.subarray(1));
  const at = isFirst ? -1 : environ.indexOf(needle);
  if (at === -1 && !isFirst) return [];
  const from = at + needle.length;
  const end = environ.indexOf(0, from);
  return environ.toString("utf8", from, end === -1 ? environ.length : end).split(":");
}

const PF_KTHREAD = 0x00200000;

/** Neither a zombie nor a thread of the kernel: those never show an environment. */
function isLivingUserProcess(procRoot: string, pid: number): boolean {
  const stat = readProcText(`${procRoot}/${pid}/stat`);
  if (stat === undefined) return false;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] !== "Z" && fields[0] !== "X" && (Number(fields[6]) & PF_KTHREAD) === 0;
}

/** The pid created last, as the kernel says in /proc/loadavg; 0 when it does not, so that everything is looked at. */
function lastPid(procRoot: string): number {
  const last = readProcText(`${procRoot}/loadavg`)?.trim().split(" ")[4];
  return last === undefined ? 0 : Number(last) || 0;
}
