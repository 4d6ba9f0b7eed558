// One look at all processes serves everybody who asked before it was taken: hundreds of runs that end together must not read the process table
// hundreds of times. Nobody is ever given a look that was taken before he asked.

import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";

/** After a look that took this program's time, it has this many times as much for other work before the next. */
const REST_FACTOR = 3;

/** How long a look may be put off so that others can have a part in it, in milliseconds. */
const LONGEST_REST_MS = 25;

/** Returns how to ask for a look. What `look` throws is thrown to everybody who shares it; no two looks are taken at the same time. */
export function shareLook<Seen>(look: () => Seen | Promise<Seen>): () => Promise<Seen> {
  let next: Promise<Seen> | undefined;
  let underWay: Promise<unknown> = Promise.resolve();
  let restsUntil = 0;
  const take = async (): Promise<Seen> => {
    const startedAt = performance.now();
    try {
      return await look();
    } finally {
      const endedAt = performance.now();
      restsUntil = endedAt + Math.min(LONGEST_REST_MS, REST_FACTOR * (endedAt - startedAt));
    }
  };
  const takeNext = async (): Promise<Seen> => {
    await underWay;
    const rest = restsUntil - performance.now();
    // At the end of this turn of the loop, so that all who ask in it share the look.
    await (rest < 1 ? nextTurn() : delay(rest));
    next = undefined;
    const taken = take();
    underWay = taken.catch(() => {}); // thrown to who asked
    return taken;
  };
  return () => {
    next ??= takeNext();
    return next;
  };
}
