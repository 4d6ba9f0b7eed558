// What a fault of the guard path does to the run: whose fault it is, and whether the agent was being ended already.

import { utimes } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { BrokerFaultKind } from "../../src/broker/decide-call.ts";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import type { EventName } from "../../src/profile/events.ts";
import { openBroker } from "../../src/spawn/open-guard-paths.ts";
import type { RunScope } from "../../src/spawn/run-scope.ts";
import type { RunLayout } from "../../src/spawn/set-up.ts";
import { makeRunDirectory, makeScratch, removeScratch, start, until } from "../broker/support.ts";

let scratch: string;
let runDirectory: RunDirectory;
beforeEach(async () => {
  scratch = await makeScratch();
  runDirectory = await makeRunDirectory(scratch);
});
afterEach(() => removeScratch(scratch));

/** A broker of one event; what it wrote and whether it ended the run. */
async function open(event: EventName, { isEnding = false } = {}) {
  const faults: BrokerFaultKind[] = [];
  const ends: string[] = [];
  let calls = 0;
  const scope = {
    plan: { events: [event], transports: { [event]: "shim" }, deadlines: {} },
    runtime: { counts: { late: 0 }, answer: () => new Promise(() => {}) },
    receipts: { write: ({ fault }: { fault: BrokerFaultKind }) => faults.push(fault) },
    redactor: { text: (text: string) => text },
    attestation: {
      asked: () => {
        calls += 1;
      },
      answered: () => {},
      late: () => {},
      describe: () => "a call",
    },
    ender: { isEnding: () => isEnding, end: ({ reason }: { reason: string }) => ends.push(reason) },
    nextCallId: () => calls + 1,
    lateCalls: new Set(),
  } as unknown as RunScope;
  const layout = { runDirectory } as unknown as RunLayout;
  const broker = await openBroker(scope, layout);
  return { broker, faults, ends, isAsked: () => calls > 0 };
}

const call = (event: EventName) =>
  start(["/bin/sh", runDirectory.shimPath, event, "5", event === "PreToolUse" ? "GATE" : "OTHER"], "{}");

/** The shim still works: only who looks at the metadata sees it. */
async function touchShim(): Promise<void> {
  await utimes(runDirectory.shimPath, 1, 1);
}

describe.each<EventName>(["PreToolUse", "PostToolUse", "SessionEnd"])("of %s", (event) => {
  test("a changed run directory ends the run, also where nothing is gated", async () => {
    const { broker, faults, ends } = await open(event);
    await touchShim();
    await call(event).result;
    expect(faults).toContain("tampered");
    expect(ends[0]).toMatch(/^tampered: s\/shim changed/);
    await broker.close();
  });
});

describe("a caller that gives up", () => {
  const giveUp = async (event: EventName, options?: { isEnding: boolean }) => {
    const opened = await open(event, options);
    const { child, result } = call(event);
    await until("the broker was asked", opened.isAsked);
    child.kill("SIGTERM");
    await result;
    await until("the broker was told", () => opened.faults.includes("late"));
    await opened.broker.close();
    return opened.ends;
  };

  test("ends the run where it was a gate's", async () => {
    expect(await giveUp("PreToolUse")).toEqual([expect.stringMatching(/^late: the caller gave up/)]);
  });

  test("does not where nothing is gated", async () => {
    expect(await giveUp("PostToolUse")).toEqual([]);
  });

  test("does not when the agent was asked to stop", async () => {
    expect(await giveUp("PreToolUse", { isEnding: true })).toEqual([]);
  });
});
