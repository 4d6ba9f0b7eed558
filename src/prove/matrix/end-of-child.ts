// Waits for a CLI that runs without Bridle's supervision, and ends it when it takes too long.

import { signalGroup } from "../../exec/process-group.ts";
import type { ChildExit, ProviderChild } from "../../spawn/child.ts";
import { kill } from "../../spawn/stop.ts";
import { LONGEST_MS } from "./play.ts";

export async function endOf(child: ProviderChild): Promise<ChildExit> {
  const timer = setTimeout(() => signalGroup(kill, child.groupId, "SIGKILL"), LONGEST_MS);
  try {
    return await child.exited;
  } finally {
    clearTimeout(timer);
  }
}
