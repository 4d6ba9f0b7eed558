// What another process of the same user can do to a hook call that waits: end its shells, or answer in Bridle's place.

import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Site } from "./harness.ts";

interface Shim {
  readonly pid: number;
  /** Names the call: the shim itself, or the shell whose subshell it is. */
  readonly callerPid: number;
  /** Its reply FIFO. */
  readonly fifo: string;
}

/** The shim that waits for an answer, found by a text in the envelope it stored: a tool call's id, an event's name. */
export function findShim({ state }: Site, named: string): Shim {
  for (const run of readdirSync(join(state, "run")))
    for (const slot of readdirSync(join(state, "run", run, "e"))) {
      const folder = join(state, "run", run);
      if (!textOf(join(folder, "e", slot)).includes(JSON.stringify(named))) continue;
      const fifo = join(folder, "r", slot);
      const pid = processesNow().find((candidate) => isShim(candidate) && reads(candidate, fifo));
      if (pid !== undefined) return { pid, callerPid: callerOf(pid), fifo };
    }
  throw new Error(`no shim waits for ${named}`);
}

/** Ends the shim and the outer shell around it: the agent sees a hook that was killed. */
export async function killHandler({ pid }: Shim): Promise<void> {
  process.kill(-groupOf(pid), "SIGKILL");
  await untilGone(pid);
}

/** Admits the call in Bridle's place. */
export async function forgeAdmission({ pid, callerPid, fifo }: Shim): Promise<void> {
  writeFileSync(fifo, `0 ${ownPidOf(callerPid)}\n\n\n`);
  await untilGone(pid);
}

/** What a process takes for its own pid: in a PID namespace another one than is seen from here. */
function ownPidOf(pid: number): number {
  const line = /^NSpid:\s+(.*)$/m.exec(textOf(`/proc/${pid}/status`))?.[1];
  return Number(line?.split(/\s+/).at(-1) ?? pid);
}

async function untilGone(pid: number): Promise<void> {
  // A process that is ending has lost its arguments before its files: only a zombie reads its FIFO no more.
  while (!/^(?:|Z)$/.test(stateOf(pid))) await delay(2);
}

/**
 * A process that kills the handlers of an event as soon as they start, once it was told to: mostly before they have asked
 * anybody, so that Bridle never hears of the call.
 */
export function startHookKiller({ root }: Site, event: string): { arm(): void } {
  const script = join(import.meta.dirname, "kill-hooks.mjs");
  const child: ChildProcess = spawn(process.execPath, [script, root, event], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { arm: () => void child.stdin?.write("go\n") };
}

function processesNow(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** A shell that was started for the shim, or one whose command reads it; `reads` tells the latter from its subshell. */
function isShim(pid: number): boolean {
  return /^\/bin\/sh\0(?:-c\0)?[^\0]*\/s\/shim/.test(textOf(`/proc/${pid}/cmdline`));
}

function callerOf(pid: number): number {
  return textOf(`/proc/${pid}/cmdline`).startsWith("/bin/sh\0-c\0") ? Number(statOf(pid)[1]) : pid;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // gone between the listing and the look: another call's
  }
}

function reads(pid: number, fifo: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/6`) === fifo;
  } catch {
    return false;
  }
}

/** State, parent, group and what follows; state is "" when it is gone. */
function statOf(pid: number): string[] {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** "" when it is gone. */
function stateOf(pid: number): string {
  return statOf(pid)[0] ?? "";
}

function groupOf(pid: number): number {
  const group = Number(statOf(pid)[2]);
  // A kill of group 0 or NaN would hit this process's own.
  if (!Number.isInteger(group) || group < 2) throw new Error(`process ${pid} is gone`);
  return group;
}
