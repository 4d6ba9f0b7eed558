// The fan-out that a word names: its id, the beginning of one, or its directory.

import { resolve } from "node:path";
import type { FanOutRecord } from "../fanout/record.ts";
import { refuseOption } from "../receipts/check-arguments.ts";

/**
 * @throws AgentHooksRefused `option_invalid` when it names none, or more than one; what `readFanOut` throws when that one cannot be read.
 */
export async function findFanOut(
  what: string,
  { stateDir, isDirectory }: { stateDir: string; isDirectory: boolean },
): Promise<FanOutRecord> {
  // Only here: a page of a run needs no database.
  const { listFanOuts, readFanOut } = await import("../fanout/read-fan-out.ts");
  if (isDirectory) return readFanOut(resolve(what), { stateDir });
  const found = (await listFanOuts({ stateDir })).filter(({ id }) => id.startsWith(what));
  const [only] = found;
  if (only === undefined)
    throw refuseOption(
      "what",
      `${JSON.stringify(what)} names no run with receipts, and no fan-out`,
      "`bridle receipts list` shows the runs, `bridle fanout --list` the fan-outs",
    );
  if (found.length > 1)
    throw refuseOption(
      "what",
      `${JSON.stringify(what)} names ${found.length} fan-outs`,
      "give more of the id",
    );
  return readFanOut(only.id, { stateDir });
}
