// Writes one run's receipts: a 0600 JSONL file under the state directory, or the caller's sink. Lines are chained and written in order;
// a write that fails is reported once through `failure` and by `close`, never swallowed.

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { makeDirectories } from "../make-directories.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { genesisOf, sealLine } from "./chain.ts";
import type { ReceiptLine, ReceiptSink, StampedReceipt } from "./receipt.ts";
import { receiptsDirectory } from "./state-directory.ts";

export { receiptsDirectory, stateDirectory } from "./state-directory.ts";

export interface ReceiptWriter {
  /** Absolute path of the file, undefined when a sink is used. */
  readonly path: string | undefined;
  /** Hash of the last line that was given; of none before the first. */
  readonly head: string | undefined;
  write(line: ReceiptLine): void;
  /** Waits for every line. Returns the first write error, if any. */
  close(): Promise<Error | undefined>;
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
  if (sink !== undefined) {
    const write = (toLine: () => StampedReceipt) => sink(toLine());
    return createChainedWriter({ runId, redactor, write, path: undefined, finish: async () => {} });
  }
  const path = join(directory, `${runId}.jsonl`);
  const file = await openReceipts(directory, path);
  return createChainedWriter({ runId, redactor, write: appendWhole(file), path, finish: () => file.close() });
}

/** What did not fit whole is closed before the next line: it costs itself alone. */
function appendWhole(file: FileHandle): (toLine: unknown, text: string) => Promise<void> {
  let isTorn = false;
  return async (_toLine, text) => {
    const start = isTorn ? "\n" : "";
    isTorn = true;
    await file.appendFile(`${start}${text}\n`);
    isTorn = false;
  };
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

function createChainedWriter({
  runId,
  redactor,
  write,
  path,
  finish,
}: {
  runId: string;
  redactor: Redactor;
  /** Given the line as an object, made when it is asked for, and as the text that it is chained as. */
  write: (toLine: () => StampedReceipt, text: string) => void | Promise<void>;
  path: string | undefined;
  finish: () => Promise<void>;
}): ReceiptWriter {
  let seq = 0;
  let head: string | undefined;
  let failure: Error | undefined;
  let queue: Promise<void> = Promise.resolve();
  return {
    path,
    get head() {
      return head;
    },
    write(line) {
      const prev = head ?? genesisOf(runId);
      const stamped = {
        run_id: runId,
        seq: seq++,
        at: new Date().toISOString(),
        ...redactor.json(line),
        ...(line.kind === "run_ended" ? { lines: seq } : {}),
      };
      const sealed = sealLine(stamped, prev);
      head = sealed.hash;
      const toLine = () => ({ ...stamped, prev, hash: sealed.hash }) as StampedReceipt;
      queue = queue
        .then(() => write(toLine, sealed.text))
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
