// One holder at a time, of this process and of all others of the user: first come, first served within the process, by a lock file beyond
// it. A holder that died is out after five seconds.

import { mkdir, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import lockfile from "proper-lockfile";

/** Another process held the lock for all of the time that was to be waited. */
export class TurnNotCome extends Error {
  override readonly name = "TurnNotCome";
}

/** A lock that was not touched for this long belonged to a holder that is dead. */
const STALE_MS = 5_000;
const POLL_MS = 10;

/** The last of each lock's queue within this process. */
const queues = new Map<string, Promise<void>>();

/**
 * Waits for the lock. Returns how to give it back.
 *
 * @param path absolute; the lock is a folder of this name with `.lock` behind it. Its folder is made.
 * @param waitMs longest wait for other processes, from when no other of this process is before.
 * @param restMs before the lock is taken: as long as others need to see it free. @default 0
 * @throws TurnNotCome; the signal's reason; the system's error where no lock can be made.
 */
export async function takeTurn({
  path,
  waitMs,
  restMs = 0,
  signal,
}: {
  path: string;
  waitMs: number;
  restMs?: number;
  signal: AbortSignal;
}): Promise<() => Promise<void>> {
  const before = queues.get(path);
  let finish = () => {};
  const mine = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const last = (before ?? Promise.resolve()).then(() => mine);
  queues.set(path, last);
  void last.then(() => {
    if (queues.get(path) === last) queues.delete(path);
  });
  try {
    if (before !== undefined) {
      await untilAborted(before, signal);
      if (restMs > 0) await delay(restMs, undefined, { signal }).catch(() => {});
    }
    const unlock = await takeLock(path, waitMs, signal);
    return () => unlock().finally(finish);
  } catch (error) {
    finish();
    throw error;
  }
}

async function takeLock(path: string, waitMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
  const until = performance.now() + waitMs;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (;;) {
    signal.throwIfAborted();
    try {
      const unlock = await lockfile.lock(path, {
        realpath: false,
        stale: STALE_MS,
        retries: 0,
        onCompromised: () => {}, // this process stood still for so long that others took it for dead
      });
      return () => unlock().catch(() => {}); // a lock that was lost is not ours to give back
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ELOCKED") throw error;
    }
    if (performance.now() >= until) throw new TurnNotCome(`${path}.lock was held for ${waitMs} ms`);
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

/**
 * Removes the locks of holders that died, as the next holder of each would: takes it and gives it back. One that may be held stays.
 * Never rejects.
 */
export async function removeStaleLocks(
  folder: string,
  {
    staleMs = STALE_MS,
    isWanted = () => true,
  }: { staleMs?: number /** Of what it locks. */; isWanted?: (path: string) => boolean } = {},
): Promise<void> {
  const names = await readdir(folder).catch(() => []); // no folder, no locks
  for (const name of names) {
    const path = join(folder, name.slice(0, -".lock".length));
    if (!name.endsWith(".lock") || !isWanted(path)) continue;
    await lockfile
      .lock(path, { realpath: false, stale: staleMs, retries: 0, onCompromised: () => {} })
      .then((unlock) => unlock())
      .catch(() => {}); // held, or given back meanwhile
  }
}

/** Rejects with the signal's reason when that comes first. */
async function untilAborted(step: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  await Promise.race([step, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}
