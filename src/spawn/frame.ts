// Bytes to lines. Bounded: a line above the cap is skipped and told with its length and digest, and reading goes on.

import { isAscii } from "node:buffer";
import { createHash, type Hash } from "node:crypto";

/** What is left of a line above the cap. */
export interface SkippedLine {
  /** Its length without the newline; a carriage return before that counts. */
  readonly bytes: number;
  /** Of exactly those bytes, in hexadecimal. */
  readonly sha256: string;
}

export interface FrameHandlers {
  /**
   * True: the line is not wanted, and is passed over without being kept or made a text. Asked once a line, with its bytes from `start` to `end`:
   * all of them, or its first ones, `SKIP_BYTES` at least.
   * @default every line is wanted
   */
  skips?(bytes: Buffer, start: number, end: number): boolean;
  /** Without its newline or CRLF, and never empty. What is no UTF-8 is U+FFFD in it. */
  onLine(line: string): void;
  /**
   * A line was longer than the cap and is gone; at the end of the stream also one without a newline.
   * @param start its first bytes as text, at most 512
   */
  onOverflow(line: SkippedLine, start: string): void;
}

export interface LineFramer {
  /** Keeps no reference to the chunk: the caller may use it again. */
  push(chunk: Buffer): void;
  /** Call at the end of the stream. Returns the bytes after the last newline, which were never a whole line; of one passed over its start. */
  end(): string;
}

/** Longest line kept unless another cap is given, in bytes without its newline. */
export const LINE_CAP_BYTES = 16 * 1024 * 1024;

/** So many bytes of a line that is cut are waited for before it is asked whether it is wanted. */
export const SKIP_BYTES = 64;
/** Of a skipped line: enough to tell what kind it was. */
const START_BYTES = 512;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept for the next line. */
const REUSED_BYTES = 1024 * 1024;
const NOTHING = Buffer.alloc(0);

export function createLineFramer(
  { skips, onLine, onOverflow }: FrameHandlers,
  capBytes = LINE_CAP_BYTES,
): LineFramer {
  /** The start of a line that goes on in the next chunk. Copied: a list of small chunks would weigh a multiple of their bytes. */
  let kept = NOTHING;
  let length = 0;
  /** Of the line that is being skipped. */
  let hash: Hash | undefined;
  let skipped = 0;
  let skippedStart = "";
  /** Of the line whose start is kept. */
  let isAsked = false;
  /** The start of the line that is passed over. */
  let passedOver: string | undefined;

  /** Asks as soon as the line's start is there; what was kept of it is let go then. */
  const isUnwanted = (part: Buffer): boolean => {
    if (skips === undefined || isAsked || length + part.length < SKIP_BYTES) return false;
    isAsked = true;
    const start =
      length === 0 ? part : Buffer.concat([kept.subarray(0, length), part.subarray(0, SKIP_BYTES)]);
    if (!skips(start, 0, start.length)) return false;
    passedOver = start.toString("utf8", 0, SKIP_BYTES);
    release();
    return true;
  };
  const keep = (part: Buffer) => {
    if (passedOver !== undefined || isUnwanted(part)) return;
    const total = length + part.length;
    if (hash === undefined && total <= capBytes) {
      if (total > kept.length) grow(total);
      part.copy(kept, length);
      length = total;
      return;
    }
    if (hash === undefined) {
      skippedStart = startOf(kept.subarray(0, length), part);
      hash = createHash("sha256").update(kept.subarray(0, length));
    }
    hash.update(part);
    skipped += total;
    release();
  };
  // Twice as much each time: a line in many chunks is copied about once.
  const grow = (needed: number) => {
    const larger = Buffer.allocUnsafeSlow(Math.min(capBytes, Math.max(needed, 2 * kept.length, FIRST_BYTES)));
    kept.copy(larger, 0, 0, length);
    kept = larger;
  };
  const release = () => {
    if (kept.length > REUSED_BYTES || hash !== undefined) kept = NOTHING;
    length = 0;
  };
  const tellSkipped = () => {
    if (hash === undefined) return;
    const line = { bytes: skipped, sha256: hash.digest("hex") };
    hash = undefined;
    skipped = 0;
    onOverflow(line, skippedStart);
  };
  const tellKept = () => {
    const line = textOf(kept, 0, length);
    release();
    if (line !== "") onLine(line);
  };

  /** All whole lines from `start`, made a text together: of short ASCII lines that costs much less than one text a line. Returns where they end. */
  const tellMany = (chunk: Buffer, start: number): number => {
    const end = chunk.lastIndexOf(NEWLINE);
    if (end < start) return start;
    const text = chunk.toString("latin1", start, end);
    for (let from = 0; from <= text.length; ) {
      const at = text.indexOf("\n", from);
      const lineEnd = at === -1 ? text.length : at;
      const isReturned = lineEnd > from && text.charCodeAt(lineEnd - 1) === RETURN;
      const line = text.slice(from, isReturned ? lineEnd - 1 : lineEnd);
      if (line !== "") onLine(line);
      from = lineEnd + 1;
    }
    return end + 1;
  };

  return {
    push(chunk) {
      let start = 0;
      // Decoding what is not ASCII takes longer the more of it there is at once.
      const isPlain = skips === undefined && chunk.length <= capBytes && isAscii(chunk);
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
        if (isPlain && length === 0 && hash === undefined) {
          start = tellMany(chunk, start);
          break;
        }
        if (passedOver !== undefined) passedOver = undefined;
        else if (length === 0 && hash === undefined && at - start <= capBytes) {
          if (skips === undefined || !skips(chunk, start, at)) {
            const line = textOf(chunk, start, at);
            if (line !== "") onLine(line);
          }
        } else {
          keep(chunk.subarray(start, at));
          if (passedOver !== undefined) passedOver = undefined;
          else if (hash === undefined) tellKept();
          else tellSkipped();
        }
        isAsked = false;
        start = at + 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
    end() {
      tellSkipped();
      const rest = passedOver ?? textOf(kept, 0, length);
      passedOver = undefined;
      kept = NOTHING;
      length = 0;
      return rest;
    },
  };
}

/** Of two parts that follow one another. */
function startOf(first: Buffer, second: Buffer): string {
  const rest = second.subarray(0, Math.max(0, START_BYTES - first.length));
  return Buffer.concat([first.subarray(0, START_BYTES), rest]).toString("utf8");
}

function textOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("utf8", start, end > start && bytes[end - 1] === RETURN ? end - 1 : end);
}
