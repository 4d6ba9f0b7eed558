// A thread of its own with a connection of its own: renews the leases of a worker's jobs, whatever the worker's event loop does. Must never
// keep a lease for a worker that stands still, and must never let an agent outlive its lease: it ends the agent itself.

import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { endLostTree } from "../journal/end-lost-tree.ts";
import { journalDirectory, readJournals } from "../journal/file.ts";
import { messageOf } from "../message-of.ts";
import type { FromLeaseThread, LeaseThreadData, LossCause, ToLeaseThread } from "./lease-messages.ts";
import { loadBullMq } from "./load-bullmq.ts";
import { redisCommands } from "./redis-commands.ts";
import { cancelKey } from "./redis-keys.ts";

interface Lease {
  readonly jobId: string;
  readonly token: string;
  readonly attempt: string;
  /** When it was last known to be held, before the command was sent: by the clock that stops while a machine sleeps, and by the other. */
  renewedAt: { readonly steady: number; readonly wall: number };
  entered: { readonly lease: string; readonly cwd: string } | undefined;
  isAnswered: boolean;
  isWarned: boolean;
  isCancelled: boolean;
  lost: LossCause | undefined;
}

const WATCH_MS = 100;

const data = workerData as LeaseThreadData;
const { leaseMs, stallMs, name, prefix } = data;
/** From the last renewal: ask the worker to end the run in an orderly way, and end it from here. */
const WARN_MS = leaseMs * 0.6;
const END_MS = leaseMs * 0.8;
/** A healthy lease is renewed four times before it would be missed. */
const RENEW_MS = Math.max(50, Math.min(1_000, leaseMs / 8));

const beat = new BigInt64Array(data.beat);
const leases = new Map<string, Lease>();
let isClosed = false;
const say = (message: FromLeaseThread) => parentPort?.postMessage(message);

const now = () => ({ steady: performance.now(), wall: Date.now() });
const ageOf = ({ renewedAt }: Lease) => {
  const { steady, wall } = now();
  return Math.max(steady - renewedAt.steady, wall - renewedAt.wall);
};

const { Queue, Job } = await loadBullMq();
const queue = new Queue(name, {
  prefix,
  // An answer that comes late is none: nothing may wait for Redis to come back here.
  connection: {
    ...data.connection,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: Math.max(200, leaseMs / 4),
    retryStrategy: () => RENEW_MS,
  },
  skipVersionCheck: true,
});
/** Told once each time that Redis goes away: it is tried again every second. */
let isAway = false;
queue.on("error", (error: Error) => {
  if (!isAway) say({ type: "problem", message: `Redis cannot be reached: ${messageOf(error)}` });
  isAway = true;
});
const client = await queue.client;
const commands = redisCommands(client);

parentPort?.on("message", (message: ToLeaseThread) => {
  switch (message.type) {
    case "hold": {
      const { jobId, token, attempt } = message;
      const states = { entered: undefined, isAnswered: false, isWarned: false, isCancelled: false };
      const lease: Lease = { jobId, token, attempt, renewedAt: now(), ...states, lost: undefined };
      leases.set(attempt, lease);
      void renew(lease);
      break;
    }
    case "enter": {
      const lease = leases.get(message.attempt);
      if (lease !== undefined) lease.entered = message;
      break;
    }
    case "ask":
      say({ type: "asked", attempt: message.attempt });
      break;
    case "drop":
      leases.delete(message.attempt);
      break;
    case "close":
      isClosed = true;
      leases.clear();
      void queue.close().finally(() => parentPort?.close());
      break;
  }
});

void renewAll();
void watchAll();
say({ type: "ready" });

async function renewAll(): Promise<void> {
  while (!isClosed) {
    await Promise.all([...leases.values()].map(renew));
    await delay(RENEW_MS);
  }
}

async function renew(lease: Lease): Promise<void> {
  if (lease.lost !== undefined) return;
  const sentAt = now();
  const { attempt, jobId, token, entered } = lease;
  try {
    const job = new Job(queue, "", {}, {}, jobId);
    const [isLocked, isIn, cancelled] = await Promise.all([
      job.extendLock(token, leaseMs),
      entered === undefined ? true : commands.renew(entered, attempt, leaseMs),
      client.get(cancelKey(name, jobId)),
    ]);
    isAway = false;
    if (leases.get(attempt) !== lease || lease.lost !== undefined) return;
    const isHeld = isLocked === 1 && isIn;
    if (isHeld) {
      lease.renewedAt = sentAt;
      lease.isWarned = false;
    }
    if (!lease.isAnswered) say({ type: "held", attempt, isHeld });
    lease.isAnswered = true;
    if (!isHeld) lose(lease, "taken");
    else if (cancelled !== null && !lease.isCancelled) {
      lease.isCancelled = true;
      say({ type: "cancel", attempt, reason: cancelled });
    }
  } catch {
    // Redis does not answer: watchAll counts how long.
  }
}

/** Does not wait for Redis, so that a lease ends in time when Redis does not answer. */
async function watchAll(): Promise<void> {
  let lastBeat = Atomics.load(beat, 0);
  let stalledMs = 0;
  let lookedAt = performance.now();
  while (!isClosed) {
    await delay(WATCH_MS);
    const current = Atomics.load(beat, 0);
    const passed = performance.now() - lookedAt;
    lookedAt += passed;
    // A process that was stopped as a whole did not stall: what counts then is the age of its leases.
    stalledMs = current === lastBeat ? stalledMs + Math.min(passed, 2 * WATCH_MS) : 0;
    lastBeat = current;
    for (const lease of leases.values()) {
      if (stalledMs > stallMs) lose(lease, "stalled");
      else if (ageOf(lease) > END_MS) lose(lease, "expired");
      else if (ageOf(lease) > WARN_MS && !lease.isWarned) {
        lease.isWarned = true;
        say({ type: "lost", attempt: lease.attempt, cause: "expired", isSoon: true });
      }
    }
  }
}

function lose(lease: Lease, cause: LossCause): void {
  if (lease.lost !== undefined) return;
  lease.lost = cause;
  if (!lease.isAnswered) say({ type: "held", attempt: lease.attempt, isHeld: false });
  lease.isAnswered = true;
  say({ type: "lost", attempt: lease.attempt, cause, isSoon: false });
  void endRuns(lease);
}

/** Again and again until the worker says that the attempt is over: a worker that stood still may be about to start the agent. */
async function endRuns(lease: Lease): Promise<void> {
  while (leases.get(lease.attempt) === lease && !isClosed) {
    if (lease.entered !== undefined) {
      try {
        await endRunsIn(lease.entered.cwd);
      } catch (error) {
        say({
          type: "problem",
          message: `the run in ${lease.entered.cwd} was not ended: ${messageOf(error)}`,
        });
      }
    }
    await delay(WATCH_MS);
  }
}

/** Runs of this worker in a directory, by the journal: their identity is compared before anything is signalled. */
async function endRunsIn(cwd: string): Promise<void> {
  const { pid, startTime, bootId } = data.supervisor;
  for (const { record } of await readJournals(journalDirectory(data.stateDir))) {
    if ("problem" in record || record.ended !== undefined || record.started === undefined) continue;
    const { supervisor, cwd: itsCwd, marker } = record.admitted;
    const isOwn =
      supervisor.pid === pid && supervisor.startTime === startTime && supervisor.bootId === bootId;
    if (isOwn && itsCwd === cwd) await endLostTree({ agent: record.started, marker });
  }
}
