// Bytes to lines. Bounded: a line above the cap is skipped and reported with its length, and reading goes on.

export interface FrameHandlers {
  onLine(line: string): void;
  /** A line of `bytes` was longer than the cap and is gone. */
  onOverflow(bytes: number): void;
}

export interface LineFramer {
  push(chunk: Buffer): void;
  /** Call at the end of the stream. Returns the bytes after the last newline, which were never a whole line. */
  end(): string;
}

/** Longest line kept, in bytes. */
export const LINE_CAP_BYTES = 16 * 1024 * 1024;

const NEWLINE = 0x0a;

export function createLineFramer(
  { onLine, onOverflow }: FrameHandlers,
  capBytes = LINE_CAP_BYTES,
): LineFramer {
  let parts: Buffer[] = [];
  let length = 0;
  let skipped = 0;

  const keep = (part: Buffer) => {
    if (skipped > 0 || length + part.length > capBytes) {
      skipped += length + part.length;
      parts = [];
      length = 0;
      return;
    }
    if (part.length > 0) parts.push(part);
    length += part.length;
  };
  const take = (): string => {
    const line =
      parts.length === 1 && parts[0] !== undefined
        ? parts[0].toString("utf8")
        : Buffer.concat(parts, length).toString("utf8");
    parts = [];
    length = 0;
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  };

  return {
    push(chunk) {
      let start = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
        keep(chunk.subarray(start, at));
        start = at + 1;
        if (skipped > 0) {
          onOverflow(skipped);
          skipped = 0;
        } else if (length > 0) onLine(take());
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
    end() {
      if (skipped > 0) onOverflow(skipped);
      skipped = 0;
      return length > 0 ? take() : "";
    },
  };
}
