// Who descends from whom, from one look at /proc. Taken before a kill: afterwards orphans belong to init and nobody knows.

import { readdirSync } from "node:fs";
import { readProcText } from "./read-proc.ts";
import type { MarkedProcess } from "./sweep.ts";

export interface ListedProcess extends MarkedProcess {
  readonly parentPid: number;
  readonly groupId: number;
  /** A zombie counts as dead. */
  readonly isAlive: boolean;
}

/** Every process of this pid namespace; empty where there is no /proc. */
export function listProcesses(procRoot = "/proc"): ListedProcess[] {
  let names: string[];
  try {
    names = readdirSync(procRoot);
  } catch {
    return []; // no /proc
  }
  return names.filter((name) => /^\d+$/.test(name)).flatMap((name) => readProcess(Number(name), procRoot));
}

function readProcess(pid: number, procRoot: string): ListedProcess[] {
  const stat = readProcText(`${procRoot}/${pid}/stat`);
  if (stat === undefined) return [];
  // After the name in parentheses, which may hold anything: state, parent, group; the start time is the 20th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parentPid, groupId] = fields;
  const isAlive = state !== "Z" && state !== "X";
  const startTime = fields[19] ?? "";
  return [{ pid, startTime, parentPid: Number(parentPid), groupId: Number(groupId), isAlive }];
}

/** The process itself, when it is listed, and everything below it. */
export function treeOf(root: number, processes: readonly ListedProcess[]): ListedProcess[] {
  return treesOf([root], processes);
}

/** As `treeOf`, for several processes at once. */
export function treesOf(roots: readonly number[], processes: readonly ListedProcess[]): ListedProcess[] {
  const children = new Map<number, ListedProcess[]>();
  for (const it of processes) {
    const siblings = children.get(it.parentPid);
    if (siblings === undefined) children.set(it.parentPid, [it]);
    else siblings.push(it);
  }
  const wanted = new Set(roots);
  const tree = new Map(processes.filter(({ pid }) => wanted.has(pid)).map((it) => [it.pid, it]));
  // A Map gives what is added while it is walked.
  for (const { pid } of tree.values())
    for (const child of children.get(pid) ?? []) tree.set(child.pid, child);
  return [...tree.values()];
}
