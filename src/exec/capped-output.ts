// Collects a stream up to a cap and goes on reading after it, so that a talkative guard is not killed by SIGPIPE or
// stopped by a full pipe.

import type { Readable } from "node:stream";

export interface CappedOutput {
  readonly ended: Promise<void>;
  take(): { bytes: Buffer; truncated: boolean };
}

export function collectCapped(stream: Readable, capBytes: number): CappedOutput {
  const chunks: Buffer[] = [];
  let size = 0;
  let truncated = false;
  stream.on("data", (chunk: Buffer) => {
    const kept = chunk.subarray(0, capBytes - size);
    if (kept.length < chunk.length) truncated = true;
    if (kept.length > 0) chunks.push(kept);
    size += kept.length;
  });
  stream.on("error", () => {}); // a broken pipe ends the output; "close" follows and what arrived counts
  const ended = new Promise<void>((resolve) => {
    stream.once("end", resolve);
    stream.once("close", resolve);
  });
  return { ended, take: () => ({ bytes: Buffer.concat(chunks), truncated }) };
}
