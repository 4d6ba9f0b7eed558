// One line of progress on a terminal, redrawn; silent elsewhere.

import type { WriteStream } from "node:tty";

export interface ProgressBar {
  title(text: string): void;
  show(done: number, total: number, what: string): void;
  clear(): void;
}

const WIDTH = 24;

export function createProgressBar(stream: Pick<WriteStream, "write" | "isTTY" | "columns">): ProgressBar {
  let heading = "";
  const draw = (text: string) => {
    if (stream.isTTY) stream.write(`\r\x1b[K${text.slice(0, Math.max(20, (stream.columns ?? 80) - 1))}`);
  };
  return {
    title(text) {
      heading = text;
      draw(`${heading} …`);
    },
    show(done, total, what) {
      const filled = Math.round((done / Math.max(1, total)) * WIDTH);
      draw(`${heading} [${"#".repeat(filled)}${".".repeat(WIDTH - filled)}] ${done}/${total} ${what}`);
    },
    clear() {
      draw("");
    },
  };
}
