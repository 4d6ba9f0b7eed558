// Ends the receipts of a run whose supervisor is gone, so that they say what became of it. Best effort: the journal is what counts.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { sealLine } from "../receipts/chain.ts";
import type { Extinction } from "../spawn/result.ts";
import { readLastReceipt } from "./last-receipt.ts";
import type { ExitDelivery, RunRecord } from "./record.ts";
import type { RecoveredHook } from "./run-exit-chain.ts";

export async function noteRecovery(
  { admitted: { runId, receiptPath, at } }: RunRecord,
  ending: {
    outcome: string;
    reason: string;
    extinction: Extinction;
    exitDelivery: ExitDelivery;
    hooks: readonly RecoveredHook[];
  },
): Promise<void> {
  if (receiptPath === null) return;
  const last = await readLastReceipt(receiptPath);
  if (last === undefined || last.kind === "run_ended") return;
  const line = {
    run_id: runId,
    seq: last.seq + 1,
    at: new Date().toISOString(),
    kind: "run_ended",
    outcome: ending.outcome,
    reason: ending.reason,
    exit_code: null,
    signal: null,
    duration_ms: Math.max(0, Date.now() - Date.parse(at)),
    extinction: ending.extinction.state,
    recovered: true,
    exit_delivery: ending.exitDelivery,
    lines: last.seq + 2,
  };
  // Receipts that were begun without a chain go on without one.
  const text = last.hash === undefined ? JSON.stringify(line) : sealLine(line, last.hash).text;
  try {
    const file = await open(receiptPath, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
    try {
      // A line that was cut is closed first: what follows must be a line of its own.
      await file.appendFile(`${last.isCut ? "\n" : ""}${text}\n`);
    } finally {
      await file.close();
    }
  } catch {
    // The receipts are gone or not ours any more; the journal has the end.
  }
}
