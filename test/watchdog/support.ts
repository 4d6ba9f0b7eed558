// Waits for a condition, with a deadline, and never for a time.

import { setTimeout as delay } from "node:timers/promises";

/** Rejects when the condition does not come true within 20 s. */
export async function waitUntil(isTrue: () => boolean | Promise<boolean>, what = "the condition") {
  const until = performance.now() + 20_000;
  while (!(await isTrue())) {
    if (performance.now() > until) throw new Error(`${what} did not come true`);
    await delay(10);
  }
}
