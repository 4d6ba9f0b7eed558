// The one watchdog of this process: a tiny sh in a session of its own that is told of every run over a pipe. When this process is gone,
// however it went, the pipe closes and the watchdog ends what is left. It must never keep this process alive.

import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import { RUN_MARKER } from "../spawn/environment.ts";
import { END_OF_PROGRAM, WATCHDOG_LOADER, WATCHDOG_PROGRAM, watchdogEnv } from "./program.ts";

/** A directory as it was made: what has other numbers is another one, and is left alone. */
export interface DirectoryIdentity {
  /** Absolute real path, without line break; its last part is the run id. */
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

export interface WatchedRun {
  readonly runId: string;
  /** The agent's process. Undefined while it is not started: then only what carries the marker is ended. */
  readonly pid?: number | undefined;
  /** Clock ticks since boot: field 22 of /proc/PID/stat. */
  readonly startTime?: string | undefined;
  readonly groupId?: number | undefined;
  /** Value of the variable that the whole tree carries. */
  readonly marker: string;
  readonly runDirectory?: DirectoryIdentity | undefined;
}

export interface Watchdog {
  /** Of the sh that runs now; another one after a restart. */
  readonly pid: number;
  /** Adds a run, or replaces what was said of it. Resolves when the pipe has it. Throws `TypeError` for what the protocol cannot carry. */
  add(run: WatchedRun): Promise<void>;
  /** The run's tree is gone. Unknown ids are ignored. */
  remove(runId: string): void;
}

/** Restarts in a row, each of a watchdog that died within a second of its start, after which it is given up. */
const RESTART_LIMIT = 5;
const SHORT_LIFE_MS = 1_000;

interface Slot {
  readonly number: number;
  readonly line: string;
}

/** Runs by id. Outlives the sh: a new one is told of all of them. */
const slots = new Map<string, Slot>();
let running: { readonly child: ChildProcess; readonly pid: number } | undefined;
let starting: Promise<Watchdog> | undefined;
let shortLives = 0;

const watchdog: Watchdog = {
  get pid() {
    return running?.pid ?? 0;
  },
  async add(run) {
    const number = slots.get(run.runId)?.number ?? freeNumber();
    const line = encodeRun(number, run);
    slots.set(run.runId, { number, line });
    await send(line);
  },
  remove(runId) {
    const slot = slots.get(runId);
    if (slot === undefined) return;
    slots.delete(runId);
    void send(`- ${slot.number}\n`);
  },
};

/**
 * The watchdog of this process; started by the first call. Rejects when it cannot be started: a later call tries again.
 *
 * @param shell the sh that runs it; for tests. @default "/bin/sh"
 */
export function ensureWatchdog(shell = "/bin/sh"): Promise<Watchdog> {
  if (running !== undefined) return Promise.resolve(watchdog);
  starting ??= startShell(shell).finally(() => {
    starting = undefined;
  });
  return starting;
}

async function startShell(shell: string): Promise<Watchdog> {
  const outer = process.env[RUN_MARKER];
  const child = spawn(shell, ["-c", WATCHDOG_LOADER, "bridle-watchdog"], {
    cwd: "/",
    // A watchdog inside another run belongs to that run's tree.
    env: watchdogEnv(outer === undefined ? {} : { [RUN_MARKER]: outer }),
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const startedAt = performance.now();
  child.on("error", () => {}); // a signal that could not be sent; nothing here sends one
  child.stdin.on("error", () => {}); // EPIPE: the exit says it too
  child.unref();
  running = { child, pid: child.pid as number };
  child.once("exit", () => {
    running = undefined;
    shortLives = performance.now() - startedAt < SHORT_LIFE_MS ? shortLives + 1 : 0;
    // Given up for now: the next run asks for it again.
    if (slots.size > 0 && shortLives < RESTART_LIMIT) ensureWatchdog(shell).catch(() => {});
  });
  const lines = [...slots.values()].map(({ line }) => line);
  await send(`${WATCHDOG_PROGRAM}\n${END_OF_PROGRAM}\n${lines.join("")}`);
  return watchdog;
}

/** What a dying watchdog does not take any more is told to the next one. */
function send(text: string): Promise<void> {
  const stdin = running?.child.stdin;
  if (!stdin?.writable) return Promise.resolve();
  return new Promise((resolve) => {
    stdin.write(text, () => resolve());
  });
}

/** The lowest that is free: the sh keeps one variable a number. */
function freeNumber(): number {
  const taken = new Set([...slots.values()].map(({ number }) => number));
  for (let number = 1; ; number++) if (!taken.has(number)) return number;
}

const WORD = /^[A-Za-z0-9_-]{1,64}$/;

/** One line of the protocol. Throws `TypeError` for an id, marker or path that it cannot carry. */
export function encodeRun(slot: number, run: WatchedRun): string {
  const { runId, pid = 0, startTime = "0", groupId = 0, marker, runDirectory } = run;
  for (const [name, value] of Object.entries({ runId, marker, startTime })) {
    if (!WORD.test(value))
      throw new TypeError(`${name} cannot be told to the watchdog: ${JSON.stringify(value)}`);
  }
  for (const [name, value] of Object.entries({ pid, groupId })) {
    if (!Number.isInteger(value) || value < 0) throw new TypeError(`${name} is no process id: ${value}`);
  }
  const head = `+ ${slot} ${pid} ${startTime} ${groupId} ${marker} ${runId}`;
  if (runDirectory === undefined) return `${head} - -\n`;
  const { path, dev, ino } = runDirectory;
  if (/[\n\0]/.test(path) || dirname(path) === path || !path.endsWith(`/${runId}`))
    throw new TypeError(`this directory cannot be told to the watchdog: ${JSON.stringify(path)}`);
  return `${head} ${dev}:${ino} ${path}\n`;
}
