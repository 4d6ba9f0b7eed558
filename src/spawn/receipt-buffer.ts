// Receipts of a run that may never be: kept in memory until the run is admitted, so that a veto leaves no file behind.

import type { ReceiptLine } from "../receipts/receipt.ts";
import type { ReceiptWriter } from "../receipts/writer.ts";

export interface BufferedReceipts extends ReceiptWriter {
  /** From here lines go to `writer`, the kept ones first. */
  admit(writer: ReceiptWriter): void;
}

/** @param onLine told each line when it comes, whether or not the run will be */
export function bufferReceipts(onLine: (line: ReceiptLine) => void = () => {}): BufferedReceipts {
  const kept: ReceiptLine[] = [];
  let target: ReceiptWriter | undefined;
  return {
    get path() {
      return target?.path;
    },
    get head() {
      return target?.head;
    },
    write(line) {
      onLine(line);
      if (target === undefined) kept.push(line);
      else target.write(line);
    },
    admit(writer) {
      target = writer;
      for (const line of kept.splice(0)) writer.write(line);
    },
    close: async () => target?.close(),
  };
}
