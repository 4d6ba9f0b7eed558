// The fan-out that a word names.

import type { FanOutRecord } from "../fanout/record.ts";
import { refuseOption } from "../receipts/check-arguments.ts";

/** @throws AgentHooksRefused `option_invalid` when it names none. */
export async function findFanOut(what: string, _options: { stateDir: string }): Promise<FanOutRecord> {
  throw refuseOption(
    "what",
    `${JSON.stringify(what)} names no run with receipts, and no fan-out`,
    "`bridle receipts list` shows the runs",
  );
}
