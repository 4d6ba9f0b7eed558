// Looks at every process in slices, so that a table of hundreds does not make the event loop stand still. Those that came while it was looked at
// are looked at too: a slow look must not miss what forks.

import { readdirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";

/** How long one slice may take, in milliseconds. */
const SLICE_MS = 2;

/**
 * Calls `look` once for each process, until a slice was enough for all that are new. Rejects with what `look` throws, and when there is no
 * process table.
 *
 * @param procRoot @default "/proc"
 */
export async function walkProcesses(look: (pid: number) => void, procRoot = "/proc"): Promise<void> {
  const seen = new Set<string>();
  for (let isInOneSlice = false; !isInOneSlice; ) {
    isInOneSlice = true;
    let sliceEnd = performance.now() + SLICE_MS;
    for (const entry of readdirSync(procRoot)) {
      if (seen.has(entry)) continue;
      seen.add(entry);
      const pid = Number(entry);
      if (!Number.isInteger(pid)) continue;
      look(pid);
      if (performance.now() < sliceEnd) continue;
      isInOneSlice = false;
      await nextTurn();
      sliceEnd = performance.now() + SLICE_MS;
    }
  }
}
