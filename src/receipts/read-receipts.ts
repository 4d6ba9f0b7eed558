// Reads a file of receipts, of a run or of a host, and says of each line which it is.

import { resolve } from "node:path";
import { type JsonlLine, parseHostLine } from "../host/parse-line.ts";
import type { JsonObject } from "../json.ts";
import { checkPath } from "./check-arguments.ts";
import { type LineReading, readJsonLines } from "./json-lines.ts";
import type { StampedReceipt } from "./receipt.ts";

export type FoundReceipt =
  | { readonly of: "run"; readonly line: StampedReceipt }
  | { readonly of: "host"; readonly line: JsonlLine };

/**
 * The lines of a file in their order, read a piece at a time. What is no receipt is passed over and counted in `unreadable`, which is complete
 * when the iteration has ended. Lines of a newer version may have kinds and words that are not known here.
 *
 * @throws AgentHooksRefused `option_invalid`: no path; `receipts_unreadable`, from the iteration: no such file, a symbolic link, no regular file, or another user's.
 */
export function readReceipts(path: string): LineReading<FoundReceipt> {
  return readJsonLines(resolve(checkPath(path)), (object): FoundReceipt | undefined => {
    const host = parseHostLine(object);
    if (host !== undefined) return { of: "host", line: host };
    const run = parseRunLine(object);
    return run === undefined ? undefined : { of: "run", line: run };
  });
}

function parseRunLine(line: JsonObject): StampedReceipt | undefined {
  const { kind, run_id, at, seq } = line;
  const isStamped =
    typeof kind === "string" &&
    kind !== "execution" &&
    typeof run_id === "string" &&
    typeof at === "string" &&
    typeof seq === "number";
  return isStamped ? (line as unknown as StampedReceipt) : undefined;
}
