// How many runs of this process are laid out or started at the same time. More of them would only make each other late, and add up their short
// synchronous steps to a pause of the event loop. What waits for others (hooks, another process, the agent's own start) must not hold a place.

/** While the file system works for one run, the kernel starts a process for the other. Four start a burst sooner, with pauses twice as long. */
const PLACES = 2;

const waiting: (() => void)[] = [];
let taken = 0;

/** Runs a step when a place is free; in the order of calls, at once when it comes alone. */
export async function withStartPlace<Made>(step: () => Promise<Made>): Promise<Made> {
  if (taken < PLACES) taken += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve)); // the place is handed on
  try {
    return await step();
  } finally {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  }
}

let starting = 0;

/** From the first check of a start to its end, whatever that is. To be told once. */
export function noteStart(): () => void {
  starting += 1;
  let isOver = false;
  return () => {
    if (!isOver) starting -= 1;
    isOver = true;
  };
}

/** Others start too, more than there are places: what makes one start sooner would only make all of them pause longer. */
export function isCrowded(): boolean {
  return starting > PLACES;
}
