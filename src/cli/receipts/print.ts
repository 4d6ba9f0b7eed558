// Puts many lines on stdout or into a file, a piece at a time.

import { randomUUID } from "node:crypto";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AgentHooksRefused, escapeForTerminal } from "../../index.ts";

const PIECE = 64 * 1024;

async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let piece = "";
  for await (const line of lines) {
    piece += line;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

/** False when stdout is gone: its error is the program's to tell, and there is nothing more to do. */
export async function printLines(lines: AsyncIterable<string>): Promise<boolean> {
  for await (const piece of inPieces(lines)) {
    const text = process.stdout.isTTY ? escapeForTerminal(piece).replaceAll("\\u000d\n", "\n") : piece;
    const error = await new Promise<Error | null | undefined>((done) => process.stdout.write(text, done));
    if (error) return false;
  }
  return true;
}

/**
 * Writes a file of this user alone (0600), whole or not at all. One that is there stays unless `force`.
 *
 * @returns its absolute path
 */
export async function writeWhole(
  path: string,
  lines: AsyncIterable<string>,
  { force }: { force: boolean },
): Promise<string> {
  const target = resolve(path);
  if (!force) await refuseTaken(target);
  const unfinished = join(dirname(target), `.${basename(target)}.${randomUUID()}.new`);
  let file: FileHandle | undefined;
  try {
    file = await open(unfinished, "wx", 0o600);
    for await (const piece of inPieces(lines)) await file.writeFile(piece);
    await file.sync();
    await file.close();
    if (force) await rename(unfinished, target);
    else await link(unfinished, target); // fails when another program has made it since
    return target;
  } catch (cause) {
    if (cause instanceof AgentHooksRefused) throw cause;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw refuse(
      target,
      `cannot be written: ${message}`,
      "name a file in a folder that you may write",
      cause,
    );
  } finally {
    await file?.close().catch(() => {}); // closed above, or the error above is the one to tell
    await rm(unfinished, { force: true });
  }
}

async function refuseTaken(target: string): Promise<void> {
  const there = await lstat(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw refuse(
      target,
      `cannot be written: ${error.message}`,
      "name a file in a folder that you may write",
      error,
    );
  });
  if (there !== undefined) throw refuse(target, "is there already", "name another file, or add --force");
}

function refuse(target: string, message: string, hint: string, cause?: unknown): AgentHooksRefused {
  return new AgentHooksRefused([{ code: "option_invalid", path: `--out ${target}`, message, hint }], {
    cause,
  });
}
