// Pauses a queue when enough has started within a stretch of time. Keeps the program alive only while something waits for it.

export interface StartRate {
  /** To be called synchronously with each start. */
  noteStart(): void;
  /** To be called when one has begun or ceased to wait. */
  noteWaiting(): void;
}

export function createStartRate(
  queue: { pause(): unknown; start(): unknown; readonly size: number },
  rate: { readonly starts: number; readonly perMs: number } | undefined,
): StartRate {
  let started = 0;
  let timer: NodeJS.Timeout | undefined;
  const noteWaiting = () => void (queue.size > 0 ? timer?.ref() : timer?.unref());
  return {
    noteStart() {
      if (rate === undefined) return;
      started += 1;
      timer ??= setTimeout(() => {
        timer = undefined;
        started = 0;
        queue.start();
      }, rate.perMs);
      noteWaiting();
      if (started >= rate.starts) queue.pause();
    },
    noteWaiting,
  };
}
