// Writes one run's receipts: a 0600 JSONL file under the state directory, or the caller's sink. Lines are written in order;
// a write that fails is reported once through `failure` and by `close`, never swallowed.

import { type FileHandle, open } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { makeDirectories } from "../make-directories.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { ReceiptLine, ReceiptSink, StampedReceipt } from "./receipt.ts";

export interface ReceiptWriter {
  /** Absolute path of the file, undefined when a sink is used. */
  readonly path: string | undefined;
  write(line: ReceiptLine): void;
  /** Waits for every line. Returns the first write error, if any. */
  close(): Promise<Error | undefined>;
}

/** `$XDG_STATE_HOME/bridle` or `~/.local/state/bridle`. */
export function stateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const base = env.XDG_STATE_HOME;
  return join(
    base !== undefined && isAbsolute(base)
      ? base
      : join(env.HOME !== undefined && isAbsolute(env.HOME) ? env.HOME : homedir(), ".local", "state"),
    "bridle",
  );
}

/** Where runs write their receipts unless told otherwise: one `<run id>.jsonl` each. */
export function receiptsDirectory(env?: NodeJS.ProcessEnv): string {
  return join(stateDirectory(env), "receipts");
}

/** @throws AgentHooksRefused `receipts_unwritable`, naming the file, when it cannot be made. */
export async function createReceiptWriter({
  runId,
  redactor,
  sink,
  directory = receiptsDirectory(),
}: {
  runId: string;
  redactor: Redactor;
  sink?: ReceiptSink | undefined;
  directory?: string | undefined;
}): Promise<ReceiptWriter> {
  if (sink !== undefined) return createSinkWriter(runId, redactor, sink, undefined);
  const path = join(directory, `${runId}.jsonl`);
  const file = await openReceipts(directory, path);
  const write = async (line: StampedReceipt) => {
    await file.appendFile(`${JSON.stringify(line)}\n`);
  };
  return createSinkWriter(runId, redactor, write, path, () => file.close());
}

async function openReceipts(directory: string, path: string): Promise<FileHandle> {
  try {
    await makeDirectories(directory);
    return await open(path, "ax", 0o600);
  } catch (cause) {
    const message = `${path} cannot be made: ${(cause as Error).message}`;
    const hint = "set receiptsDir to a folder that you may write, or pass a receiptSink";
    throw new AgentHooksRefused([{ code: "receipts_unwritable", path: "receiptsDir", message, hint }], {
      cause,
    });
  }
}

function createSinkWriter(
  runId: string,
  redactor: Redactor,
  sink: ReceiptSink,
  path: string | undefined,
  finish: () => Promise<void> = async () => {},
): ReceiptWriter {
  let seq = 0;
  let failure: Error | undefined;
  let queue: Promise<void> = Promise.resolve();
  return {
    path,
    write(line) {
      const stamped = {
        run_id: runId,
        seq: seq++,
        at: new Date().toISOString(),
        ...redactor.json(line),
      } as StampedReceipt;
      queue = queue
        .then(() => sink(stamped))
        .catch((error: unknown) => {
          failure ??= error instanceof Error ? error : new Error(String(error));
        });
    },
    async close() {
      await queue;
      await finish().catch((error: Error) => {
        failure ??= error;
      });
      return failure;
    },
  };
}
