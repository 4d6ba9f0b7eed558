// The end of a run that went well by its agent's own word: what is missing or was found in the last look still counts.

import { rm } from "node:fs/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { createAttestation } from "../../src/spawn/attestation.ts";
import type { FinishInput } from "../../src/spawn/finish.ts";
import type { RunScope } from "../../src/spawn/run-scope.ts";
import { type LiveRun, superviseToEnd } from "../../src/spawn/supervise-to-end.ts";
import { makeRunDirectory, makeScratch } from "../broker/support.ts";

let scratch: string;
let runDirectory: RunDirectory;
beforeEach(async () => {
  scratch = await makeScratch();
  runDirectory = await makeRunDirectory(scratch);
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

async function endOf({ canary = true, lastLook = [] }: { canary?: boolean; lastLook?: string[] } = {}) {
  const attestation = createAttestation({ events: ["SessionStart", "PreToolUse"] });
  if (canary) {
    attestation.asked("SessionStart", 1);
    attestation.identified("SessionStart", 1, {} as never);
    attestation.answered("SessionStart", 1, 0);
  }
  const order: string[] = [];
  const scope = {
    attestation,
    receipts: { write: () => {} },
    runtime: { isPromptDenied: false, settle: async () => {} },
    options: {},
    warnings: [],
  } as unknown as RunScope;
  let settled: FinishInput | undefined;
  const live = {
    layout: { runDirectory, remove: async () => void order.push("home removed") },
    broker: { close: async () => {} },
    child: { stderrTail: () => "" },
    session: {
      close: () => {
        order.push("last look");
        return lastLook;
      },
    },
    supervision: {
      summary: { finalMessage: { status: "ok", reason: "completed" } },
      ended: Promise.resolve({ exit: { code: 0, signal: null }, isTruncated: false }),
    },
    report: { issues: [] },
    finish: async (input: FinishInput) => {
      settled = input;
    },
  } as unknown as LiveRun;
  await superviseToEnd(scope, live);
  return { ...settled?.settlement, order };
}

it("a run with its canary and nothing found is a success, and the record was looked at before the home went", async () => {
  expect(await endOf()).toEqual({
    outcome: "success",
    reason: "completed",
    order: ["last look", "home removed"],
  });
});

it("a run whose canary never came is unenforced", async () => {
  expect(await endOf({ canary: false })).toMatchObject({
    outcome: "unenforced",
    reason: expect.stringMatching(/^canary: /),
  });
});

it("a run whose last look finds a call that ran unasked is unenforced", async () => {
  expect(await endOf({ lastLook: ["unasked: tool call x"] })).toMatchObject({
    outcome: "unenforced",
    reason: "unasked: tool call x",
  });
});
