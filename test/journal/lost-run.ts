// Journals of runs whose supervisor is gone, written by hand, and processes that could be their agents.

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { lstatSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { ownerName } from "../../src/exec/owner-name.ts";
import { startTimeOf } from "../../src/exec/sweep.ts";
import { type RecoverOptions, recoverRuns } from "../../src/index.ts";
import { ownIdentity } from "../../src/journal/process-identity.ts";
import type { Admitted, ExitHook, JournalLine, StartedLine } from "../../src/journal/record.ts";
import { guardMarker } from "../../src/spawn/environment.ts";
import { identifyFile } from "../../src/trust/identity.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { journalsOf, stateDirOf } from "./support.ts";

/** This process's pid with another start time: it was another process. */
export const goneSupervisor = () => ({ ...ownIdentity(), startTime: "1" });

/** A name's owner that was this process's pid before: dead. */
export const deadOwner = () => ownerName().replace(/^\d+-\d+/, `${process.pid}-1`);

/** Of this test file alone: recovery ends whatever carries a marker, also in tests that run beside it. */
export const markerOf = (runId: string) => `${runId}-${UNIQUE}`;
const UNIQUE = randomUUID().slice(0, 8);

export function admittedLine(place: Place, runId: string, changes: Partial<Admitted> = {}): Admitted {
  return {
    type: "admitted",
    version: 1,
    at: new Date().toISOString(),
    runId,
    sessionId: "session",
    provider: "claude",
    cwd: place.cwd,
    marker: markerOf(runId),
    supervisor: goneSupervisor(),
    digest: "digest",
    hooks: 1,
    receiptPath: null,
    plannedDirectory: null,
    plannedTmpDir: null,
    projectRoot: place.cwd,
    hookPath: "/usr/bin:/bin",
    exitChain: [],
    ...changes,
  };
}

export async function writeJournal(
  place: Place,
  runId: string,
  lines: readonly JournalLine[],
): Promise<string> {
  return writeRaw(place, runId, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

export async function writeRaw(place: Place, runId: string, content: string): Promise<string> {
  await mkdir(journalsOf(place), { recursive: true, mode: 0o700 });
  const path = join(journalsOf(place), `${runId}.jsonl`);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

/** A hook that appends one line to `told` in the place: what it was sent. */
export async function commandHook(place: Place, changes: Partial<ExitHook> = {}): Promise<ExitHook> {
  const program = join(place.home, "note.sh");
  await writeFile(program, `#!/bin/sh\ncat >>'${toldFile(place)}'\necho "$TOKEN" >>'${place.home}/token'\n`, {
    mode: 0o755,
  });
  return {
    id: "agent_exit[0].hooks[0]",
    type: "command",
    fingerprint: "0".repeat(64),
    timeoutMs: 10_000,
    onFailure: "closed",
    grants: false,
    argv: [program],
    argv0: program,
    files: [{ ...(await identifyFile(program)) }],
    envNames: [],
    ...changes,
  };
}

const toldFile = (place: Place) => join(place.home, "told");

/** The envelopes that hooks were sent. */
export async function readTold(place: Place): Promise<Record<string, unknown>[]> {
  const text = await readFile(toldFile(place), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export interface Stray {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly line: StartedLine;
}

/** A process that sleeps, in a group of its own. */
export async function startStray(
  place: Place,
  { marker, script = ":", isGuard = false }: { marker?: string; script?: string; isGuard?: boolean },
) {
  const name = join(place.home, `up-${Math.random()}`);
  const child = spawn("/bin/sh", ["-c", `${script}\n: >"$UP"\nexec sleep 1000`], {
    detached: true,
    stdio: "ignore",
    env: {
      PATH: process.env.PATH,
      UP: name,
      PIDS: join(place.home, "pids"),
      ...(marker === undefined
        ? {}
        : { BRIDLE_RUN_MARKER: isGuard ? guardMarker(markerOf(marker)) : markerOf(marker) }),
    },
  });
  const pid = child.pid as number;
  await waitUntil(() => lstatOrUndefined(name) !== undefined, "the stray process");
  const startTime = startTimeOf(pid) as string;
  const line = { type: "started", at: new Date().toISOString(), pid, startTime, groupId: pid } as const;
  return { pid, child, line } satisfies Stray;
}

export function lstatOrUndefined(path: string) {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

export const EXIT_STARTED: JournalLine = {
  type: "exit_started",
  at: new Date().toISOString(),
  by: "supervisor",
};

/** A place for each test of a file, with what recovers there; processes that were started are ended after the test. */
export function lostRunsOfEachTest() {
  const strays: Awaited<ReturnType<typeof startStray>>[] = [];
  const at = {
    place: undefined as unknown as Place,
    recover: (options: RecoverOptions = {}) =>
      recoverRuns({ stateDir: stateDirOf(at.place), env: at.place.env, ...options }),
    async stray(orders: Parameters<typeof startStray>[1] = {}) {
      const started = await startStray(at.place, orders);
      strays.push(started);
      return started;
    },
  };
  beforeEach(async () => {
    at.place = await makePlace();
  });
  afterEach(async () => {
    for (const { child } of strays.splice(0)) child.kill("SIGKILL");
    await at.place.remove();
  });
  return at;
}
