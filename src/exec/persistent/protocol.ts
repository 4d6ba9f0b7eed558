// What Bridle and a persistent guard say to each other: one JSON object a line, UTF-8. Pure. A line that could be meant in two ways is none:
// what was not understood must not pass for "no decision".

import { isJsonObject, type Json } from "../../json.ts";
import { findDuplicatedKey } from "../../profile/decision-keys.ts";
import type { Envelope } from "../../profile/envelope-types.ts";

/** What a guard said of one call, as a one-shot guard would have: printed and exited 0, or exited 2. */
export interface GuardWord {
  readonly id: string;
  /** It stands for exit 2. */
  readonly blocks: boolean;
  /** The answer as JSON, empty where there is none; of a block the reason. */
  readonly text: string;
}

/** What JSON leaves as it is and some readers of lines take for the end of one: Node's readline, Python's splitlines. */
const OTHER_LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** A call, with its newline. */
export function encodeCall(id: string, envelope: Envelope): string {
  const text = JSON.stringify({ id, event: envelope.hook_event_name, envelope });
  return `${text.replace(OTHER_LINE_ENDS, escapeCharacter)}\n`;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The word that a line is, or what is wrong with it, in words that follow "a line of its stdout ". */
export function readWord(line: Buffer): GuardWord | string {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(line);
  } catch {
    return "is not UTF-8";
  }
  try {
    value = JSON.parse(text);
  } catch {
    return "is not JSON";
  }
  if (!isJsonObject(value)) return "is not a JSON object";
  const duplicated = findDuplicatedKey(text);
  if (duplicated !== undefined) return `holds ${JSON.stringify(duplicated)} twice`;
  const { id, answer, block, ...unknown } = value as Record<string, Json>;
  const [first] = Object.keys(unknown);
  if (first !== undefined) return `holds ${JSON.stringify(first)}, which is none of id, answer and block`;
  if (typeof id !== "string") return "names no call";
  if (block === undefined) {
    if (answer === undefined || answer === null) return { id, blocks: false, text: "" };
    if (!isJsonObject(answer)) return "holds an answer that is no object";
    const written = writeJson(answer);
    return written === undefined ? "is nested too deep" : { id, blocks: false, text: written };
  }
  if (answer !== undefined) return "holds both answer and block";
  if (typeof block !== "string") return "holds a block that is no text";
  return { id, blocks: true, text: block };
}

/** Undefined for what can be parsed and is nested too deep to be written. */
function writeJson(value: Json): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

export interface LineReader {
  /** Keeps no reference to the chunk. */
  push(chunk: Buffer): void;
}

const NEWLINE = 0x0a;
const FIRST_BYTES = 4096;

/**
 * Bytes to lines, without their newlines. A line above the cap is told when it is, not at its end, which may never come; nothing is read
 * after it.
 *
 * @param onLine returns false to read no more
 */
export function createLineReader(
  { onLine, onTooLong }: { onLine: (line: Buffer) => boolean; onTooLong: () => void },
  capBytes: number,
): LineReader {
  /** The start of a line that goes on in the next chunk. Copied: many small chunks would weigh a multiple of their bytes. */
  let kept = Buffer.alloc(0);
  let length = 0;
  let isOver = false;

  const keep = (part: Buffer) => {
    if (length + part.length > kept.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length + part.length, 2 * kept.length, FIRST_BYTES));
      kept.copy(larger, 0, 0, length);
      kept = larger;
    }
    part.copy(kept, length);
    length += part.length;
  };
  const take = (part: Buffer, isWhole: boolean) => {
    if (length + part.length > capBytes) {
      isOver = true;
      kept = Buffer.alloc(0);
      onTooLong();
    } else if (!isWhole) keep(part);
    else {
      if (length > 0) keep(part);
      const line = length > 0 ? kept.subarray(0, length) : part;
      length = 0;
      isOver = !onLine(line);
    }
  };

  return {
    push(chunk) {
      let start = 0;
      while (!isOver && start < chunk.length) {
        const at = chunk.indexOf(NEWLINE, start);
        take(chunk.subarray(start, at === -1 ? undefined : at), at !== -1);
        start = at === -1 ? chunk.length : at + 1;
      }
    },
  };
}
