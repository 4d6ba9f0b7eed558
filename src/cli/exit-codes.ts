// The CLI's exit codes: sysexits.h where it has a fitting one.

import type { Outcome } from "../index.ts";

export const EXIT_CODES = {
  success: 0,
  failed: 1,
  /** `bridle import`: a file cannot be read. */
  unusable: 2,
  usage: 64,
  internal: 70,
  interrupted: 75,
  promptDenied: 77,
  refused: 78,
} as const;

const BY_OUTCOME: Readonly<Record<Outcome, number>> = {
  success: EXIT_CODES.success,
  failed: EXIT_CODES.failed,
  incomplete: EXIT_CODES.failed,
  lost: EXIT_CODES.failed,
  prompt_blocked: EXIT_CODES.failed,
  interrupted: EXIT_CODES.interrupted,
  timed_out: EXIT_CODES.interrupted,
  unenforced: EXIT_CODES.refused,
  refused: EXIT_CODES.refused,
};

export function exitCodeOf(outcome: Outcome): number {
  return BY_OUTCOME[outcome];
}
