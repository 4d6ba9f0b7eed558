// The end of a run that went well by its agent's own word: what is missing or was found in the last look still counts.

import { rm } from "node:fs/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Broker } from "../../src/broker/broker.ts";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { createAttestation } from "../../src/spawn/attestation.ts";
import { closeRun } from "../../src/spawn/close-run.ts";
import type { RunScope } from "../../src/spawn/run-scope.ts";
import type { RunLayout } from "../../src/spawn/set-up.ts";
import { settleRun } from "../../src/spawn/settle.ts";
import { NOTHING_SAID } from "../../src/spawn/supervise.ts";
import type { SessionWatch } from "../../src/spawn/watch-codex-session.ts";
import { makeRunDirectory, makeScratch } from "../broker/support.ts";

let scratch: string;
let runDirectory: RunDirectory;
beforeEach(async () => {
  scratch = await makeScratch();
  runDirectory = await makeRunDirectory(scratch);
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

async function endOf({
  canary = true,
  lastLook = [],
  close = async () => {},
}: {
  canary?: boolean;
  lastLook?: string[];
  close?: () => Promise<void>;
} = {}) {
  const attestation = createAttestation({ events: ["SessionStart", "PreToolUse"], transports: {} });
  if (canary) {
    attestation.asked("SessionStart", 1);
    attestation.identified("SessionStart", 1, {} as never);
    attestation.answered("SessionStart", 1, 0);
  }
  const order: string[] = [];
  const scope = {
    attestation,
    receipts: { write: () => {} },
    redactor: { text: (text: string) => text },
    runtime: { isPromptDenied: false, settle: async () => {} },
    options: {},
    warnings: [],
  } as unknown as RunScope;
  const evidence = await closeRun(scope, {
    layout: { runDirectory, remove: async () => void order.push("home removed") } as unknown as RunLayout,
    broker: { close } as Broker,
    session: {
      close: () => {
        order.push("last look");
        return lastLook;
      },
    } as unknown as SessionWatch,
    summary: { ...NOTHING_SAID },
  });
  const settlement = settleRun({
    ...evidence,
    finalMessage: { status: "ok", reason: "completed" },
    exitCode: 0,
    signal: null,
    stopCause: undefined,
    isTruncated: false,
    isAttested: true,
  });
  return { ...settlement, order };
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

it("a broker that cannot be closed is a fault, and the rest is still put away", async () => {
  const close = () => Promise.reject(new Error("EIO"));
  expect(await endOf({ close })).toEqual({
    outcome: "unenforced",
    reason: "close_failed: Error: EIO",
    order: ["last look", "home removed"],
  });
});
