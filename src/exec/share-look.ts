// One look at all processes serves everybody who asked before it was taken: hundreds of runs that end together must not read the process table
// hundreds of times, each time while the event loop stands still. Nobody is ever given a look that was taken before he asked.

/** After a look that took this program's time, it has this many times as much for other work before the next. */
const REST_FACTOR = 3;

/** How long a look may be put off so that others can have a part in it, in milliseconds. */
const LONGEST_REST_MS = 25;

/** Returns how to ask for a look. `look` is synchronous; what it throws is thrown to everybody who shares it. */
export function shareLook<Seen>(look: () => Seen): () => Promise<Seen> {
  let next: Promise<Seen> | undefined;
  let restsUntil = 0;
  return () => {
    next ??= new Promise((resolve, reject) => {
      const take = () => {
        next = undefined;
        const startedAt = performance.now();
        try {
          resolve(look());
        } catch (error) {
          reject(error);
        }
        const endedAt = performance.now();
        restsUntil = endedAt + Math.min(LONGEST_REST_MS, REST_FACTOR * (endedAt - startedAt));
      };
      const rest = restsUntil - performance.now();
      // At the end of this turn of the loop, so that all who ask in it share the look.
      if (rest < 1) setImmediate(take);
      else setTimeout(take, rest);
    });
    return next;
  };
}
