// Follows the chain of one run line by line and says what does not fit: changed, missing, reordered, added. Pure but for the hash of each line.

import type { JsonObject } from "../json.ts";
import { genesisOf, type Seal } from "./chain.ts";

/**
 * - `changed`: bytes of a line are not those that were written; `missing`: lines are gone; `reordered`: a line stands behind a later one;
 *   `added`: a line that the run did not write there; `torn`: a line that a killed writer left unfinished;
 * - `cut`: the run has ended, and its last lines are gone; `foreign`: lines of another run; `head`: the chain ends in another hash than the one given.
 */
export type ReceiptProblemKind =
  | "changed"
  | "missing"
  | "reordered"
  | "added"
  | "torn"
  | "cut"
  | "foreign"
  | "head"
  | "not_chained";

export interface ReceiptProblem {
  readonly kind: ReceiptProblemKind;
  /** From 1; where it was seen. */
  readonly line: number;
  /** For a person. */
  readonly detail: string;
}

export interface ChainFollower {
  /** @param seal undefined: the line carries none */
  follow(line: JsonObject, seal: Seal | undefined, number: number): ReceiptProblem[];
  /** Problems that only the end can tell. */
  finish(): ReceiptProblem[];
  /** A line that continues the chain as it stands and was written by recovery. */
  isRecoveryOf(line: JsonObject, seal: Seal | undefined): boolean;
  readonly lines: number;
  /** Of the last line that was followed. */
  readonly head: string | undefined;
  /** The last line of a run, the end, is there. */
  readonly isEnded: boolean;
  readonly isChained: boolean;
}

/** Gaps that are remembered, so that a line that comes later is told as reordered. */
const GAPS_MAX = 10_000;
const NO_HASH = "carries no hash";

export function followChain(runId: string): ChainFollower {
  let expectedPrev = genesisOf(runId);
  let nextSeq = 0;
  let lines = 0;
  let isChained = false;
  let endedAt: number | undefined;
  /** By `seq`, the line where it was missed. */
  const gaps = new Map<number, number>();
  let gapsNotKept = 0;
  /** First line without a hash, before any with one. */
  let unsealedFrom: number | undefined;

  const noteGap = (from: number, to: number, number: number) => {
    for (let seq = from; seq < to; seq += 1) {
      if (gaps.size < GAPS_MAX) gaps.set(seq, number);
      else {
        gapsNotKept += to - seq;
        return;
      }
    }
  };

  const judge = (line: JsonObject, seal: Seal, number: number): Omit<ReceiptProblem, "line">[] => {
    const { seq } = line;
    const fits = seal.prev === expectedPrev;
    if (!seal.isTrue) {
      // What it said itself is not to be believed; the next line says which hash was there.
      nextSeq += 1;
      return [{ kind: "changed", detail: "its bytes are not those that its hash was made of" }];
    }
    if (endedAt !== undefined && !(typeof seq === "number" && gaps.has(seq)))
      return [
        { kind: "added", detail: `the run had ended in line ${endedAt}, and nothing is written behind` },
      ];
    if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 0)
      return [{ kind: "changed", detail: "has no number" }];
    if (seq < nextSeq) {
      if (gaps.delete(seq)) return [{ kind: "reordered", detail: `number ${seq} stands behind later ones` }];
      return [{ kind: "added", detail: `number ${seq} is there already` }];
    }
    const missed = seq - nextSeq;
    if (missed > 0) noteGap(nextSeq, seq, number);
    nextSeq = seq + 1;
    if (missed > 0) return [];
    if (fits) return [];
    const before =
      seq === 0
        ? "it does not begin the chain of its run"
        : `it follows another line ${seq - 1} than the one before it`;
    return [{ kind: "changed", detail: `${before}: that one, or this one, was made anew` }];
  };

  return {
    get lines() {
      return lines;
    },
    get head() {
      return isChained ? expectedPrev : undefined;
    },
    get isEnded() {
      return endedAt !== undefined;
    },
    get isChained() {
      return isChained;
    },
    isRecoveryOf: (line, seal) =>
      seal?.isTrue === true && seal.prev === expectedPrev && line.seq === nextSeq && line.recovered === true,
    follow(line, seal, number) {
      lines += 1;
      if (seal === undefined) {
        if (line.seq === nextSeq) nextSeq += 1; // its own seal was taken from it
        if (isChained) return [{ kind: "changed", line: number, detail: NO_HASH }];
        unsealedFrom ??= number;
        return [];
      }
      if (!isChained && lines > 1) expectedPrev = seal.prev;
      isChained = true;
      const wasBehind = typeof line.seq === "number" && line.seq < nextSeq;
      const found = judge(line, seal, number);
      // A line that stands in the wrong place is not what the next one follows.
      if (!wasBehind || !seal.isTrue) expectedPrev = seal.hash;
      if (seal.isTrue && line.kind === "run_ended") {
        endedAt ??= number;
        if (typeof line.seq === "number" && line.lines !== line.seq + 1)
          found.push({
            kind: "changed",
            detail: `says ${String(line.lines)} lines and has number ${line.seq}`,
          });
      }
      return found.map((problem) => ({ ...problem, line: number }));
    },
    finish() {
      const unsealed: ReceiptProblem[] =
        unsealedFrom === undefined
          ? []
          : [{ kind: isChained ? "changed" : "not_chained", line: unsealedFrom, detail: NO_HASH }];
      return [
        ...unsealed,
        ...describeGaps(gaps),
        ...(gapsNotKept === 0
          ? []
          : [{ kind: "missing" as const, line: lines, detail: `${gapsNotKept} more lines are not there` }]),
      ];
    },
  };
}

/** Neighbours that were missed in the same place are one problem. */
function describeGaps(gaps: ReadonlyMap<number, number>): ReceiptProblem[] {
  const problems: ReceiptProblem[] = [];
  let from: number | undefined;
  const seqs = [...gaps.keys()].sort((one, other) => one - other);
  for (const [index, seq] of seqs.entries()) {
    from ??= seq;
    const next = seqs[index + 1];
    if (next === seq + 1 && gaps.get(next) === gaps.get(seq)) continue;
    const line = gaps.get(seq) ?? 0;
    const which = from === seq ? `number ${seq} is` : `numbers ${from} to ${seq} are`;
    problems.push({ kind: "missing", line, detail: `before this line, ${which} not there` });
    from = undefined;
  }
  return problems;
}
