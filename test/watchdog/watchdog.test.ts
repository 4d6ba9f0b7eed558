// The watchdog of this process: one for all runs, started again when it dies, given up when it cannot live.

import { readFileSync, realpathSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { isAlive } from "../spawn/support.ts";
import { waitUntil } from "./support.ts";

const fresh = async () => {
  vi.resetModules();
  return import("../../src/watchdog/watchdog.ts");
};

test("there is one for all callers, in a session of its own, deaf to HUP, INT and TERM", async () => {
  const { ensureWatchdog } = await fresh();
  const [one, other] = await Promise.all([ensureWatchdog(), ensureWatchdog()]);
  expect([one.pid, (await ensureWatchdog()).pid]).toEqual([other.pid, other.pid]);
  const ignored = () => {
    const status = readFileSync(`/proc/${one.pid}/status`, "latin1");
    return Number.parseInt(/^SigIgn:\s*(\w+)/m.exec(status)?.[1] ?? "0", 16);
  };
  const wanted = (1 << 0) | (1 << 1) | (1 << 14);
  await waitUntil(() => (ignored() & wanted) === wanted, "the ignored signals");
  const stat = readFileSync(`/proc/${one.pid}/stat`, "latin1");
  expect(Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3])).toBe(one.pid);
  process.kill(one.pid, "SIGKILL");
});

test("one that was killed while it has runs is started again", async () => {
  const { ensureWatchdog } = await fresh();
  const watchdog = await ensureWatchdog();
  await watchdog.add({ runId: "r", marker: "no-process-has-it" });
  const { pid: first } = watchdog;
  process.kill(first, "SIGKILL");
  await waitUntil(() => watchdog.pid !== first && watchdog.pid !== 0, "another watchdog");
  expect(isAlive(watchdog.pid)).toBe(true);
  watchdog.remove("r");
  process.kill(watchdog.pid, "SIGKILL");
});

test("one that never lives is given up, and the next run asks again", async () => {
  const { ensureWatchdog } = await fresh();
  const watchdog = await ensureWatchdog("/bin/true");
  await watchdog.add({ runId: "r", marker: "m" });
  let seen = 0;
  let last = watchdog.pid;
  await waitUntil(async () => {
    if (watchdog.pid !== last && watchdog.pid !== 0) seen += 1;
    last = watchdog.pid;
    return watchdog.pid === 0;
  }, "the end of the restarts");
  expect(seen).toBeLessThan(10);
  expect((await ensureWatchdog()).pid).not.toBe(0);
  watchdog.remove("r");
  process.kill(watchdog.pid, "SIGKILL");
});

test.skipIf(realpathSync("/bin/sh") !== "/usr/bin/dash")("under dash it takes at most 2 MB", async () => {
  const { ensureWatchdog } = await fresh();
  const watchdog = await ensureWatchdog();
  const ids = Array.from({ length: 200 }, (_, index) => `run-${index}`);
  for (const runId of ids)
    await watchdog.add({
      runId,
      marker: runId,
      runDirectory: { path: `/${"x".repeat(60)}/${runId}`, dev: 1, ino: 1 },
    });
  const rss = () => /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${watchdog.pid}/status`, "latin1"))?.[1];
  expect(Number(rss())).toBeLessThanOrEqual(2048);
  for (const runId of ids) watchdog.remove(runId);
  process.kill(watchdog.pid, "SIGKILL");
});

test("where there is no sh it rejects", async () => {
  const { ensureWatchdog } = await fresh();
  await expect(ensureWatchdog("/nonexistent/sh")).rejects.toThrow("ENOENT");
});
