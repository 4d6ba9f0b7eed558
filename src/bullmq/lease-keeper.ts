// The worker's side of its lease thread: starts it, feeds it its heartbeat, and turns what it says into aborted signals. When the thread
// dies, every lease is lost at once.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { ownIdentity } from "../journal/process-identity.ts";
import { toOneLine } from "../redaction/terminal.ts";
import type { FromLeaseThread, LeaseThreadData, LossCause, ToLeaseThread } from "./lease-messages.ts";

/** The signal's reason when the lease is lost, or soon will be. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  override readonly cause: LossCause;

  constructor(cause: LossCause) {
    super(`lease_lost: ${cause}`);
    this.cause = cause;
  }
}

/** The signal's reason when somebody has cancelled the job. */
export class JobCancelled extends Error {
  override readonly name = "JobCancelled";

  constructor(reason: string) {
    super(`cancelled: ${toOneLine(reason)}`);
  }
}

export interface Lease {
  /** Aborted with `LeaseLost` or `JobCancelled`. */
  readonly signal: AbortSignal;
  /** From now on a run in this directory is ended by the thread when the lease is lost. */
  enter(lease: string, cwd: string): void;
  /**
   * Resolves when the signal says all that the thread knows. To be waited for before the end of a run is judged: the thread may have ended
   * the agent, and what it said of that may be read after the agent's exit.
   */
  settle(): Promise<void>;
  /** The attempt is over, and nothing of it is left. */
  drop(): void;
}

export interface LeaseKeeper {
  /** Undefined when the job's lock is not held any more. */
  hold(jobId: string, token: string, attempt: string): Promise<Lease | undefined>;
  close(): Promise<void>;
}

export interface LeaseKeeperOptions extends Omit<LeaseThreadData, "beat" | "supervisor"> {
  readonly onProblem: (message: string) => void;
}

const BEAT_MS = 50;

interface Held {
  readonly controller: AbortController;
  readonly answer: (isHeld: boolean) => void;
  onSettled: () => void;
}

export function createLeaseKeeper({ onProblem, ...data }: LeaseKeeperOptions): LeaseKeeper {
  const beat = new SharedArrayBuffer(8);
  const counter = new BigInt64Array(beat);
  const timer = setInterval(() => Atomics.add(counter, 0, 1n), BEAT_MS);
  const held = new Map<string, Held>();
  let thread: Worker | undefined;
  let isClosed = false;

  const onMessage = (message: FromLeaseThread) => {
    if (message.type === "problem") return onProblem(message.message);
    if (message.type === "ready") return;
    const lease = held.get(message.attempt);
    if (message.type === "held") lease?.answer(message.isHeld);
    else if (message.type === "asked") lease?.onSettled();
    else if (message.type === "lost") lease?.controller.abort(new LeaseLost(message.cause));
    else lease?.controller.abort(new JobCancelled(message.reason));
  };
  const start = (): Worker => {
    const started = new Worker(threadPath(), {
      workerData: { ...data, beat, supervisor: ownIdentity() } satisfies LeaseThreadData,
    });
    started.on("message", onMessage);
    started.on("error", (error) => onProblem(`the lease thread failed: ${error.message}`));
    started.on("exit", () => {
      if (thread === started) thread = undefined;
      if (isClosed) return;
      for (const { controller, answer, onSettled } of held.values()) {
        answer(false);
        controller.abort(new LeaseLost("thread"));
        onSettled();
      }
    });
    return started;
  };
  const tell = (message: ToLeaseThread) => {
    thread ??= start();
    thread.postMessage(message);
  };

  return {
    async hold(jobId, token, attempt) {
      const controller = new AbortController();
      const isHeld = await new Promise<boolean>((answer) => {
        held.set(attempt, { controller, answer, onSettled: () => {} });
        tell({ type: "hold", jobId, token, attempt });
      });
      const drop = () => {
        held.delete(attempt);
        if (thread !== undefined) tell({ type: "drop", attempt });
      };
      if (!isHeld) {
        drop();
        return undefined;
      }
      return {
        signal: controller.signal,
        enter: (lease, cwd) => tell({ type: "enter", attempt, lease, cwd }),
        settle: () =>
          new Promise((resolve) => {
            const lease = held.get(attempt);
            if (lease === undefined || controller.signal.aborted || thread === undefined) return resolve();
            lease.onSettled = resolve;
            tell({ type: "ask", attempt });
          }),
        drop,
      };
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      const closing = thread;
      if (closing === undefined) return;
      const ended = new Promise((resolve) => closing.once("exit", resolve));
      closing.postMessage({ type: "close" } satisfies ToLeaseThread);
      // It may wait for a Redis that is gone.
      const late = setTimeout(() => void closing.terminate(), 2_000);
      await ended;
      clearTimeout(late);
    },
  };
}

/** The built file: from sources it is looked for in dist, because Node 20 runs no TypeScript. */
function threadPath(): string {
  const beside = fileURLToPath(new URL("./lease-thread.js", import.meta.url));
  if (existsSync(beside)) return beside;
  const built = fileURLToPath(new URL("../../dist/bullmq/lease-thread.js", import.meta.url));
  if (existsSync(built)) return built;
  throw new Error(`${beside} is missing: run \`npm run build\` first`);
}
