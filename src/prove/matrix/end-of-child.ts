// Waits for a CLI that runs without Bridle's supervision, and ends it when it takes too long.

import { signalGroup } from "../../exec/process-group.ts";
import type { ChildExit, ProviderChild } from "../../spawn/child.ts";
import { kill } from "../../spawn/stop.ts";
import { LONGEST_MS } from "./play.ts";

export async function endOf(child: ProviderChild, signal?: AbortSignal): Promise<ChildExit> {
  const end = () => signalGroup(kill, child.groupId, "SIGKILL");
  const timer = setTimeout(end, LONGEST_MS);
  if (signal?.aborted === true) end();
  signal?.addEventListener("abort", end, { once: true });
  try {
    return await child.exited;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}
