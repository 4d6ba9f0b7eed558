// What a process does with its runs when it is told to end, or fails: it stops them, waits for their agent_exit, and then ends as it would
// have ended without us. Never keeps a program's own handlers from being called, and never decides for a program that has some.

import { constants } from "node:os";
import { inspect } from "node:util";
import { refuseIfAny } from "../errors.ts";
import { lateSchema } from "../packages.ts";
import {
  type EnterOptions,
  enterRun,
  type LiveRun,
  listLive,
  SHUTDOWN_MS,
  startStopping,
  stopRuns,
} from "./live-runs.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
type EndingSignal = (typeof SIGNALS)[number];
type Ending = EndingSignal | "uncaughtException";

/** After which a process that its own signal did not end leaves with the number a shell would give it. */
const RAISE_MS = 5_000;

/** On our listeners, so that two copies of this package in one process know each other's. */
const OURS = Symbol.for("agent-bridle.shutdown");
type Listener = ((...words: never[]) => void) & { [OURS]?: true };

/** Adds a run to those of this process. While there is one that stops with it, the process's ending signals are listened to. */
export function enterProcess(options: EnterOptions): LiveRun {
  const run = enterRun(options);
  if (run.stopsWithProcess) {
    listen();
    void run.delivered.then(() => {
      if (stop === undefined && !listLive().some(({ stopsWithProcess }) => stopsWithProcess)) unlisten();
    });
  }
  return run;
}

export interface StopAllOptions {
  /** Told in each run's reason, after `supervisor_stopping: `. @default "stopped" */
  readonly reason?: string;
  /** From the stop to KILL, for all runs together; 0 kills at once. Milliseconds. @default 10000 */
  readonly budgetMs?: number;
  /** Takes new runs again when all have ended. @default false */
  readonly acceptAfter?: boolean;
}

const stopAllSchema = lateSchema((z) =>
  z
    .strictObject({
      reason: z.string(),
      budgetMs: z
        .number()
        .min(0)
        .max(2 ** 31 - 1),
      acceptAfter: z.boolean(),
    })
    .partial(),
);

/**
 * Stops every run of this process, also those with `shutdown: "off"`, and refuses new ones. Resolves when each result is delivered: each
 * `agent_exit` has run then. May be called again with a smaller budget.
 *
 * @throws AgentHooksRefused `option_invalid`
 * @example
 * process.once("SIGTERM", async () => {
 *   await stopAllRuns({ reason: "SIGTERM" });
 *   process.exit(0);
 * });
 */
export async function stopAllRuns(options: StopAllOptions = {}): Promise<void> {
  const { error } = stopAllSchema().safeParse(options);
  refuseIfAny(
    (error?.issues ?? []).map(({ path, message }) => ({
      code: "option_invalid",
      path: path.join(".") || "options",
      message,
      hint: "see docs/SUPERVISOR.md",
    })),
  );
  const { reason = "stopped", budgetMs = SHUTDOWN_MS, acceptAfter = false } = options;
  const accept = startStopping(reason);
  await stopRuns(listLive(), { because: reason, budgetMs });
  if (acceptAfter) accept?.();
}

/** The stop that a signal or an error began; a second signal aborts it. */
let stop: AbortController | undefined;
let isListening = false;
/** Listeners of the program that left in the turn they are called in: `once`. */
const left = new Set<string | symbol>();

const onSignal: ((signal: EndingSignal) => void) & Listener = (signal) => {
  if (stop !== undefined) {
    stop.abort();
    return;
  }
  const decides = hostListens(signal);
  // A process that is going to end takes all of its runs with it.
  const runs = listLive().filter(({ stopsWithProcess }) => stopsWithProcess || !decides);
  void stopBecause(signal, runs).then(() => {
    unlisten();
    const isLast = !process.listeners(signal).some(isOurs);
    if (!decides && isLast) raise(signal);
  });
};

/**
 * The signal may be caught once more by a listener that only looks on and raises it again (signal-exit): that takes turns of the event loop,
 * which must not run empty and end the process with 0 before.
 */
function raise(signal: EndingSignal): void {
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), RAISE_MS);
}

const onUncaught: ((error: unknown) => void) & Listener = (error) => {
  if (hostListens("uncaughtException")) return;
  process.stderr.write(`${inspect(error)}\n\nNode.js ${process.version}\n`);
  if (stop !== undefined) return;
  void stopBecause("uncaughtException", listLive()).then(() => process.exit(1));
};

const onRemoved: ((event: string | symbol, listener: Listener) => void) & Listener = (event, listener) => {
  if (isOurs(listener)) return;
  left.add(event);
  queueMicrotask(() => left.delete(event));
};

for (const listener of [onSignal, onUncaught, onRemoved]) listener[OURS] = true;

async function stopBecause(because: Ending, runs: readonly LiveRun[]): Promise<void> {
  stop = new AbortController();
  startStopping(because);
  const budgetMs = Math.max(0, ...runs.map(({ shutdownMs }) => shutdownMs));
  await stopRuns(runs, { because, budgetMs, hurry: stop.signal });
  const { removeSpares } = await import("../broker/spare-directories.ts");
  removeSpares();
  // Whoever waits for a result sees it before the process ends.
  await new Promise((resolve) => setImmediate(resolve));
}

function listen(): void {
  if (isListening) return;
  isListening = true;
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on("uncaughtException", onUncaught);
  process.on("removeListener", onRemoved);
}

function unlisten(): void {
  isListening = false;
  for (const signal of SIGNALS) process.off(signal, onSignal);
  process.off("uncaughtException", onUncaught);
  process.off("removeListener", onRemoved);
}

function isOurs(listener: unknown): boolean {
  return typeof listener === "function" && (listener as Listener)[OURS] === true;
}

/** Whether the program has a listener of its own, which then decides. */
function hostListens(event: Ending): boolean {
  if (left.has(event)) return true;
  const others = process.listeners(event as EndingSignal).filter((listener) => !isOurs(listener)).length;
  return others > (event === "uncaughtException" ? 0 : countDeferring());
}

/**
 * Listeners of the package signal-exit, which ends the process when nobody else listens and does nothing otherwise. The number it has on
 * each signal is what its versions 3 and 4 tell one another.
 */
function countDeferring(): number {
  const places: unknown[] = [
    Reflect.get(process, "__signal_exit_emitter__"),
    Reflect.get(globalThis, Symbol.for("signal-exit emitter")),
  ];
  return places.reduce<number>((sum, place) => {
    const count = typeof place === "object" && place !== null ? Reflect.get(place, "count") : 0;
    return sum + (typeof count === "number" ? count : 0);
  }, 0);
}
