// Holds the agent's output back while its consumer is slow. Where hooks come on that very pipe it is still read, slowly: a gate's question
// must not wait for a consumer.

import type { Readable } from "node:stream";

/** About 1.3 MB a second, in chunks of a pipe's 64 KiB. */
const READ_EVERY_MS = 50;

export interface OutputHold {
  pause(): void;
  resume(): void;
}

/** @param hasRoom undefined: nothing is read while it is held */
export function createOutputHold(stdout: Readable, hasRoom: (() => boolean) | undefined): OutputHold {
  let timer: NodeJS.Timeout | undefined;
  const stopAgain = () => {
    if (timer !== undefined) stdout.pause();
  };
  const readOne = () => {
    if (hasRoom?.() !== true || !stdout.isPaused()) return;
    stdout.once("data", stopAgain);
    stdout.resume();
  };
  const letGo = () => {
    clearInterval(timer);
    timer = undefined;
    stdout.off("data", stopAgain);
  };
  stdout.once("close", letGo);
  return {
    pause() {
      stdout.pause();
      if (hasRoom === undefined || timer !== undefined || stdout.closed) return;
      timer = setInterval(readOne, READ_EVERY_MS);
      timer.unref();
    },
    resume() {
      letGo();
      stdout.resume();
    },
  };
}
