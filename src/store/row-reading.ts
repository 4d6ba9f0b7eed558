// Rows that are read one by one, with the count of those that are no receipt: passed over, as a reader of lines does, and never silently.

/** A generator that says how many rows it has passed over. */
export interface RowReading<T> extends Generator<T, void> {
  /** Rows that are no receipt, or no registration, so far; of all that were asked for when the iteration has ended. */
  readonly unreadable: number;
}

/** @param read is told to call `skip` once a row that it passes over. */
export function countUnreadable<T>(read: (skip: () => void) => Generator<T, void>): RowReading<T> {
  let unreadable = 0;
  const rows = read(() => {
    unreadable += 1;
  });
  return Object.defineProperty(rows, "unreadable", { get: () => unreadable }) as RowReading<T>;
}
