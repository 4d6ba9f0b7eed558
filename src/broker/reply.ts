// One answer onto a reply FIFO, in the three lines the shim reads. Must never block and never write to a caller that is gone.

import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { writeFile } from "node:fs/promises";

/** What the shim must print and exit with. On events that are no gate the outer form turns every code into 0. */
export interface BrokerAnswer {
  readonly code: 0 | 2;
  readonly stdout: string;
  readonly stderr: string;
}

/** `gone`: no process reads the FIFO any more. */
export type ReplyResult = "sent" | "gone";

const INLINE_LIMIT = 1024; // bytes for both texts: well inside the shells' byte-wise `read` and any pipe buffer

/**
 * Writes long bodies to files first, then the three lines in one write. Throws when a body cannot be stored or the FIFO
 * is not what it was; nothing has been sent then.
 */
export async function sendReply({
  fifo,
  bodyBase,
  pid,
  answer,
}: {
  fifo: string;
  /** Path prefix of the body files; `.err` and `.out` are added. */
  bodyBase: string;
  pid: number;
  answer: BrokerAnswer;
}): Promise<ReplyResult> {
  if (isInline(answer))
    return writeLines(fifo, `${answer.code} ${pid}\n${answer.stderr}\n${answer.stdout}\n`);
  await Promise.all([
    writeFile(`${bodyBase}.err`, endLine(answer.stderr), { flag: "wx", mode: 0o600 }),
    writeFile(`${bodyBase}.out`, endLine(answer.stdout), { flag: "wx", mode: 0o600 }),
  ]);
  return writeLines(fifo, `F${answer.code} ${pid}\n\n\n`);
}

/** False for an answer that goes through body files. */
export function isInline({ stdout, stderr }: BrokerAnswer): boolean {
  if (Buffer.byteLength(stdout) + Buffer.byteLength(stderr) > INLINE_LIMIT) return false;
  return !["\n", "\0"].some((mark) => stdout.includes(mark) || stderr.includes(mark));
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function writeLines(fifo: string, lines: string): ReplyResult {
  const fd = openWriter(fifo);
  if (fd === undefined) return "gone";
  try {
    const bytes = Buffer.from(lines);
    const written = writeSync(fd, bytes);
    if (written !== bytes.length)
      throw new Error(`only ${written} of ${bytes.length} bytes of the reply were taken`);
    return "sent";
  } catch (error) {
    if (hasCode(error, "EPIPE")) return "gone";
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** A write-only, non-blocking descriptor; undefined when nobody has the FIFO open for reading. */
function openWriter(fifo: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (hasCode(error, "ENXIO")) return undefined;
    throw error;
  }
  if (!fstatSync(fd).isFIFO()) {
    closeSync(fd);
    throw new Error("the reply path is no FIFO");
  }
  return fd;
}

/** True when no process reads the FIFO; what a dead caller left in it is taken out, so that the next one does not see it. */
export function emptyIfAbandoned(fifo: string): boolean {
  const writer = openWriter(fifo);
  if (writer !== undefined) {
    closeSync(writer);
    return false;
  }
  const fd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const scratch = Buffer.alloc(4096);
    while (readSync(fd, scratch) > 0);
  } catch (error) {
    if (!hasCode(error, "EAGAIN")) throw error;
  } finally {
    closeSync(fd);
  }
  return true;
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
