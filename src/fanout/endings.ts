// What ended and was not read yet, in order: pushed from anywhere, read by one.

export interface Endings<T> extends AsyncIterable<T> {
  push(value: T): void;
  /** Nothing more comes; what is there is still read. */
  close(): void;
}

export function createEndings<T>(): Endings<T> {
  const waiting: T[] = [];
  let isClosed = false;
  let wake = () => {};
  return {
    push(value) {
      waiting.push(value);
      wake();
    },
    close() {
      isClosed = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
        if (isClosed) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
