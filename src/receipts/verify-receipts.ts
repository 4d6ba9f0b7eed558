// Says whether a file of receipts is as its run wrote it. Believes nothing that a line says of itself but what its hash bears out.

import { basename, resolve } from "node:path";
import { type JsonObject, parseJsonObject } from "../json.ts";
import { readSeal } from "./chain.ts";
import { checkPath, invalidOption, readOptions } from "./check-arguments.ts";
import { type ChainFollower, followChain, type ReceiptProblem } from "./follow-chain.ts";
import { LINE_MAX_BYTES } from "./json-lines.ts";
import { type RawLine, readRawLines } from "./raw-lines.ts";

/**
 * - `intact`: every line is as it was written, none is missing, and the run's end is there;
 * - `open`: the same, but there is no end: the run goes on, was killed, or its last lines were cut off;
 * - `broken`: something was changed, and `problems` says what and where;
 * - `not_chained`: written by a version without a chain, or not by a run.
 */
export type ReceiptsState = "intact" | "open" | "broken" | "not_chained";

export interface VerifiedRun {
  readonly runId: string;
  readonly lines: number;
  /** Hash of its last line. */
  readonly head: string | undefined;
  /** Its last line, the end, is there. */
  readonly isEnded: boolean;
}

export interface VerifiedReceipts {
  /** Absolute. */
  readonly path: string;
  readonly state: ReceiptsState;
  readonly lines: number;
  /** By their first line; a run's own file holds one. */
  readonly runs: readonly VerifiedRun[];
  /** By line. A file that is `intact` may have `torn` ones: what a killed writer left, and recovery went on behind. */
  readonly problems: readonly ReceiptProblem[];
}

export interface VerifyOptions {
  /** A hash noted elsewhere, `RunResult.receiptHead` for example: the file must end in it. */
  readonly head?: string;
}

/** So many are told; of more it is only told that there are. */
const PROBLEMS_MAX = 1_000;
const RUN_FILE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

/**
 * Reads a file of receipts of runs from its beginning to its end and follows the chain of each run in it.
 *
 * @throws AgentHooksRefused `option_invalid`: no path, a head that is no hash; `receipts_unreadable`: no such file, a symbolic link, no regular
 *   file, or another user's.
 * @example
 * const { state, problems } = await verifyReceipts(receiptPath, { head: receiptHead });
 * if (state !== "intact") console.error(state, problems);
 */
export async function verifyReceipts(path: string, options: VerifyOptions = {}): Promise<VerifiedReceipts> {
  const file = resolve(checkPath(path));
  const { head } = readOptions(options, { what: "options", known: ["head"] });
  if (head !== undefined && !(typeof head === "string" && /^[0-9a-f]{64}$/.test(head)))
    throw invalidOption("head", head, "a SHA-256 in hexadecimal");

  const [, named] = RUN_FILE.exec(basename(file)) ?? [];
  const runs = new Map<string, ChainFollower>();
  const problems: ReceiptProblem[] = [];
  let lines = 0;
  let lastHead: string | undefined;
  /** The last line has its newline. */
  let isClosed = true;
  /** Lines that are no receipt, behind which nothing has shown yet that a killed writer left them. */
  let unfinished: RawLine[] = [];
  const tell = (...found: ReceiptProblem[]) => {
    problems.push(...found.slice(0, Math.max(0, PROBLEMS_MAX - problems.length)));
  };

  for await (const raw of readRawLines(file, LINE_MAX_BYTES)) {
    lines += 1;
    isClosed = raw.isClosed;
    const line = readLine(raw);
    if (line === undefined) {
      unfinished.push(raw);
      if (unfinished.length > 1) tell(...unfinished.splice(0, 1).map(noReceipt));
      continue;
    }
    const runId = line.run_id;
    const isNew = !runs.has(runId);
    const follower = runs.get(runId) ?? followChain(runId);
    const seal = readSeal(raw.bytes as Buffer);
    const isTorn = unfinished.length > 0 && follower.isRecoveryOf(line, seal);
    tell(...unfinished.map(isTorn ? tornLine : noReceipt));
    unfinished = [];
    if (isNew && named !== undefined && named !== runId)
      tell({ kind: "foreign", line: raw.number, detail: `belongs to run ${runId}` });
    runs.set(runId, follower);
    tell(...follower.follow(line, seal, raw.number));
    lastHead = follower.head;
    if (!raw.isClosed) tell({ kind: "torn", line: raw.number, detail: "has no newline" });
  }
  tell(...unfinished.map((raw) => (raw.isClosed ? noReceipt(raw) : tornLine(raw))));
  for (const follower of runs.values()) tell(...follower.finish());
  if (head !== undefined && head !== lastHead)
    tell({ kind: "head", line: lines, detail: `ends in ${lastHead ?? "no hash"}, not in ${head}` });
  problems.sort((one, other) => one.line - other.line);
  const verified = [...runs].map(([runId, { lines, head, isEnded }]) => ({ runId, lines, head, isEnded }));
  return {
    path: file,
    state: stateOf([...runs.values()], problems, isClosed),
    lines,
    runs: verified,
    problems,
  };
}

function readLine({ bytes }: RawLine): (JsonObject & { run_id: string }) | undefined {
  if (bytes === undefined) return undefined;
  const line = parseJsonObject(bytes.toString("utf8"));
  return line !== undefined && typeof line.run_id === "string" && line.kind !== "execution"
    ? (line as JsonObject & { run_id: string })
    : undefined;
}

function noReceipt({ number, bytes }: RawLine): ReceiptProblem {
  const what =
    bytes === undefined
      ? "is too long to be read"
      : bytes.length === 0
        ? "is empty"
        : "is no receipt of a run";
  return { kind: bytes?.length === 0 ? "added" : "changed", line: number, detail: what };
}

function tornLine({ number }: RawLine): ReceiptProblem {
  return { kind: "torn", line: number, detail: "was never finished: its writer was killed" };
}

/** A line that was torn costs itself alone, where recovery has gone on behind it. */
function stateOf(
  runs: readonly ChainFollower[],
  problems: readonly ReceiptProblem[],
  isClosed: boolean,
): ReceiptsState {
  const told = problems.filter(({ kind }) => kind !== "torn" && kind !== "not_chained");
  if (told.length > 0 && (runs.some((run) => run.isChained) || told.some(({ kind }) => kind === "head")))
    return "broken";
  if (runs.some((run) => !run.isChained)) return "not_chained";
  return isClosed && runs.length > 0 && runs.every((run) => run.isEnded) ? "intact" : "open";
}
