// A supervisor that can be killed: the built sources, run by a program of their own.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { listProcesses } from "../../src/exec/process-tree.ts";
import type { Step } from "../../src/journal/steps.ts";
import type { Containment } from "../../src/spawn/containment.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { isAlive, leftovers, type Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";

/** What was built before all tests (test/build-sources.ts), for every file alike: nobody may change it. */
export const DIST = inject("dist");

/** What the program of a supervisor is told. */
export interface Orders {
  readonly dist: string;
  readonly binary: string;
  readonly cwd: string;
  readonly home: string;
  /** The exit hook appends `outcome recovered` here; one line a start. */
  readonly exits: string;
  /** Stops here until it is killed: a step, or the first message of the agent; undefined: never. */
  readonly haltAt?: Step | "message";
  /** Ends the watchdog first, and starts no other. */
  readonly withoutWatchdog?: boolean;
  /** Default `sweep`: what a killed supervisor leaves is there to be ended. */
  readonly containment?: Containment;
  /** Runs at a time. Default 1. */
  readonly runs?: number;
  /** A function in place of the command. */
  readonly isFunction?: boolean;
}

const PROGRAM = `
import { writeFileSync, appendFileSync } from "node:fs";
const orders = JSON.parse(process.argv[2]);
const { compileAgentHooks, spawnAgent } = await import(orders.dist + "/index.js");
const { listenToSteps } = await import(orders.dist + "/journal/steps.js");
const say = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
const env = { PATH: process.env.PATH, HOME: orders.home, TMPDIR: process.env.TMPDIR };
const exitHook = orders.isFunction
  ? { type: "function", handler: ({ outcome, recovered }) => void appendFileSync(orders.exits, outcome + " " + recovered + "\\n") }
  : { type: "command", command: [process.execPath, orders.home + "/note-exit.mjs", orders.exits] };
const hooks = await compileAgentHooks(
  { agent_exit: [{ hooks: [exitHook] }] },
  { provider: "claude", cwd: orders.cwd, binary: orders.binary, prove: "off", env },
);
const halt = (step, runId) => {
  if (step !== orders.haltAt) return;
  if (orders.withoutWatchdog) globalThis.endWatchdog?.();
  writeFileSync(1, JSON.stringify({ halted: step, runId }) + "\\n");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
listenToSteps(halt);
const { ensureWatchdog } = await import(orders.dist + "/watchdog/watchdog.js");
const watchdog = await ensureWatchdog();
globalThis.endWatchdog = () => process.kill(watchdog.pid, "SIGKILL");
say({ watchdog: watchdog.pid });
const starting = Array.from({ length: orders.runs ?? 1 }, async () => {
  const run = await spawnAgent({ hooks, prompt: "hello", cwd: orders.cwd, baseEnv: env, containment: orders.containment ?? "sweep" });
  say({ started: run.id, pid: run.pid, watchdog: watchdog.pid });
  for await (const event of run) {
    if (event.type !== "message") continue;
    writeFileSync(1, JSON.stringify({ message: event.text }) + "\\n");
    halt("message", run.id);
  }
  return (await run.result).outcome;
});
say({ outcomes: await Promise.all(starting) });
`;

const START_CHILDREN = `
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
if (!process.argv.includes("--version")) {
  const start = (file, args, name) => {
    const child = spawn(file, args, { detached: true, stdio: "ignore" });
    child.unref();
    writeFileSync(process.env.HOME + "/" + name, String(child.pid));
  };
  start("sleep", ["1000"], "marked-child");
  start("env", ["-i", "sleep", "1000"], "bare-child");
}
`;

/** Pids of the children that an agent starts with; undefined while it has not. */
export function childOf(place: Place, name: "marked-child" | "bare-child"): number | undefined {
  const path = join(place.home, name);
  return existsSync(path) ? Number(readFileSync(path, "utf8")) || undefined : undefined;
}

const NOTE_EXIT = `
import { appendFileSync } from "node:fs";
import { text } from "node:stream/consumers";
const { outcome, recovered } = JSON.parse(await text(process.stdin));
appendFileSync(process.argv[2], outcome + " " + recovered + "\\n");
`;

export interface Supervisor {
  readonly child: ChildProcess;
  /** Lines it has said. */
  readonly said: Record<string, unknown>[];
  /** Kills it and waits for its end. */
  kill(): Promise<void>;
  /** Resolves with the first line that has this field. Rejects when it ends before. */
  wait(field: string): Promise<Record<string, unknown>>;
}

export async function startSupervisor(
  place: Place,
  script: FakeScript,
  orders: Partial<Orders>,
): Promise<Supervisor> {
  const { binary } = await createFakeProvider({
    provider: "claude",
    script,
    directory: join(place.home, "fakes"),
  });
  // From its start on the agent has a child that outlives it, and one that nothing but its parent leads to.
  await writeFile(
    binary,
    (await readFile(binary, "utf8")).replace("\nimport ", `\n${START_CHILDREN}import `),
  );
  await mkdir(temporaryOf(place), { recursive: true });
  const program = join(place.home, "supervisor.mjs");
  await writeFile(program, PROGRAM);
  await writeFile(join(place.home, "note-exit.mjs"), NOTE_EXIT);
  const all: Orders = {
    dist: DIST,
    binary,
    cwd: place.cwd,
    home: place.home,
    exits: exitsFile(place),
    ...orders,
  };
  const child = spawn(process.execPath, [program, JSON.stringify(all)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...place.env, TMPDIR: temporaryOf(place) },
  });
  const said: Record<string, unknown>[] = [];
  let rest = "";
  let errors = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    said.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>));
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    said,
    async kill() {
      if (hasEnded()) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
    async wait(field) {
      const find = () => said.find((line) => field in line);
      await waitUntil(() => find() !== undefined || hasEnded(), `a line with ${field}`);
      const line = find();
      if (line === undefined) throw new Error(`the supervisor ended before it said ${field}: ${errors}`);
      return line;
    },
  };
}

export const stateDirOf = (place: Place) => join(place.home, ".local", "state", "bridle");
export const journalsOf = (place: Place) => join(stateDirOf(place), "journal");
export const temporaryOf = (place: Place) => join(place.home, "tmp");
export const exitsFile = (place: Place) => join(place.home, "exits");

/** Starts of the exit hook: `outcome recovered` each. */
export async function readExits(place: Place): Promise<string[]> {
  const text = await readFile(exitsFile(place), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

/** Lines of every journal, ended or not. */
export function readAllJournals(place: Place): Record<string, unknown>[][] {
  return [journalsOf(place), join(journalsOf(place), "ended")]
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => path.endsWith(".jsonl"))
    .map((path) => readFileSync(path, "utf8").trimEnd().split("\n"))
    .map((lines) => lines.map((line) => JSON.parse(line) as Record<string, unknown>));
}

/** Living processes whose environment holds the home of this test: agents and whatever they started. */
export function livingOf(place: Place): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const environ = readFileSync(`/proc/${pid}/environ`, "latin1");
        return environ.includes(`HOME=${place.home}\0`) && environ.includes("BRIDLE_RUN_MARKER=");
      } catch {
        return false; // ended meanwhile
      }
    })
    .filter(isAlive);
}

/** Also the child that a supervisor's own sweep does not find: it cleared its environment and has a session of its own. */
export function killRest(place: Place): void {
  const bare = childOf(place, "bare-child");
  const isThere = bare !== undefined && isAlive(bare);
  for (const pid of [...livingOf(place), ...(isThere ? [bare] : [])]) process.kill(pid, "SIGKILL");
}

export async function expectNothingLeft(place: Place): Promise<void> {
  expect(livingOf(place)).toEqual([]);
  expect(await leftovers(place)).toEqual([]);
  const folders = [temporaryOf(place), join(stateDirOf(place), "workspaces")];
  const names = folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  // A lock can belong to a living program until it is old.
  expect(names.filter((name) => !name.endsWith(".lock"))).toEqual([]);
  const journals = existsSync(journalsOf(place)) ? readdirSync(journalsOf(place)) : [];
  expect(journals.filter((name) => !["ended", "stop"].includes(name))).toEqual([]);
}

/** Living watchdogs of one supervisor. */
export function watchdogsBelow(supervisor: number): number[] {
  return (
    listProcesses()
      .filter(({ parentPid, isAlive: lives }) => parentPid === supervisor && lives)
      .map(({ pid }) => pid)
      .filter((pid) => readIfThere(`/proc/${pid}/cmdline`).includes("bridle-watchdog"))
      // Its program runs: it ignores SIGTERM.
      .filter((pid) => /^SigIgn:\s*\w*[4567cdef]\w{3}$/m.test(readIfThere(`/proc/${pid}/status`)))
  );
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // ended meanwhile
  }
}
