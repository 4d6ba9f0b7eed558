// Starting a process stops this one for a millisecond or two, while the kernel copies its tables. So that many starts at once do not add up to a
// pause of the event loop, each takes a turn of the loop of its own. Must never make a start wait that comes alone.

const waiting: (() => void)[] = [];
let isTaken = false;

/** Resolves when the caller may start one process: at once when no other was started in this turn of the event loop, else in the order of calls. */
export function takeStartTurn(): Promise<void> {
  if (isTaken) return new Promise((resolve) => waiting.push(resolve));
  isTaken = true;
  // Twice: the first may still be in this turn of the loop, at its end.
  setImmediate(() => setImmediate(passTurn));
  return Promise.resolve();
}

function passTurn(): void {
  const next = waiting.shift();
  if (next === undefined) {
    isTaken = false;
    return;
  }
  setImmediate(passTurn);
  next();
}
