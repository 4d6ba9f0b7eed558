// What the report of a guard comes to.

import type { GuardReport } from "./run-self-tests.ts";

/** All rows passed, and every gate is known to do something. */
export function isSound({ rows, blocks }: Pick<GuardReport, "rows" | "blocks">): boolean {
  return rows.every(({ passed }) => passed) && ["denies", "acts", "no_gate"].includes(blocks);
}
