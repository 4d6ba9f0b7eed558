// What the watchdog is told of a run, and when.

import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLedger } from "../../src/journal/ledger.ts";
import type { RunScope } from "../../src/spawn/run-scope.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";

let wait: (pid: number | undefined) => Promise<unknown> = async () => {};
const told: { verb: string; pid?: number | undefined }[] = [];
vi.mock("../../src/watchdog/watchdog.ts", () => ({
  ensureWatchdog: () =>
    Promise.resolve({
      pid: 1,
      add: async ({ pid }: { pid?: number }) => {
        await wait(pid);
        told.push({ verb: "add", pid });
      },
      remove: () => void told.push({ verb: "remove" }),
    }),
}));

let place: Place;
beforeEach(async () => {
  told.length = 0;
  wait = async () => {};
  place = await makePlace();
});
afterEach(() => place.remove());

test("a run is added before its process, again with it, and removed when its agent_exit has run", async () => {
  const { run } = await fakes.play(place, {
    provider: "claude",
    script: { steps: [{ text: "x" }] },
    handlers: { agent_exit: () => void told.push({ verb: "exit" }) },
    options: { containment: "sweep" },
  });
  expect(told).toEqual([
    { verb: "add", pid: undefined },
    { verb: "add", pid: run.pid },
    { verb: "exit" },
    { verb: "remove" },
  ]);
});

test.each(["auto", "sweep"] as const)(
  "nothing is said to the agent while its start is not written down (%s)",
  async (containment) => {
    // Much longer than a fake needs to start and to ask its first hook.
    wait = async (pid) => pid !== undefined && (await delay(1_000));
    await fakes.play(place, {
      provider: "claude",
      script: { steps: [{ text: "x" }] },
      handlers: { SessionStart: () => void told.push({ verb: "hook" }) },
      options: { containment },
    });
    const verbs = told.map(({ verb }) => verb);
    // One that is held is added once, with its process.
    expect([
      ["add", "hook", "remove"],
      ["add", "add", "hook", "remove"],
    ]).toContainEqual(verbs);
    expect(told[verbs.indexOf("hook") - 1]?.pid).toBeGreaterThan(0);
  },
);

test.each([
  [[], 1],
  [[4711], 0],
])("with the survivors %j a run is taken from the watchdog %d times", async (survivors, times) => {
  const plan = { entries: [], digest: "d", provider: "claude", projectRoot: "/" };
  const scope = {
    runId: "r",
    plan,
    options: { baseEnv: place.env },
    runOptions: { cwd: place.cwd },
    warnings: [],
    receipts: { write: () => {} },
    redactor: { text: (text: string) => text },
  } as unknown as RunScope;
  await createLedger(scope).end(
    { outcome: "failed", reason: "" },
    { state: "unproven", method: "", survivors },
  );
  expect(told.filter(({ verb }) => verb === "remove")).toHaveLength(times);
});
