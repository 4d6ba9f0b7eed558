// The machine's timers and deeds on a clock that the test holds.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { resolveDeadlines } from "../../src/spawn/deadlines.ts";
import { type ChildHands, createLife } from "../../src/spawn/life.ts";
import type { RunResult } from "../../src/spawn/result.ts";
import type { Ending } from "../../src/spawn/settle-machine.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function begin(hands: Partial<ChildHands> = {}) {
  const endings: Ending[] = [];
  const deeds: string[] = [];
  const life = createLife(resolveDeadlines({ idleMs: 1_000, wallMs: "off", stopMs: 400 }), {
    close: async () => ({ isPromptDenied: false, faults: [], doubts: [] }),
    finish: async (ending) => {
      endings.push(ending);
      return {} as RunResult;
    },
  });
  const note = (deed: string) => () => void deeds.push(deed);
  life.attach({
    askToStop: note("ask"),
    terminate: note("terminate"),
    kill: note("kill"),
    closeInput: note("close input"),
    drain: note("drain"),
    giveUpOutput: () => life.send({ type: "output_ended", isTruncated: false }),
    silenceMs: () => 0,
    endTree: async () => ({ state: "proven", method: "pidns", survivors: [] }),
    ...hands,
  });
  for (const type of ["spawned", "attested", "prompt_handed_over"] as const) life.send({ type });
  return { life, endings, deeds };
}

describe("silence", () => {
  it("is counted from the last output, not from the prompt", () => {
    let silence = 10;
    const { deeds } = begin({ silenceMs: () => silence });
    vi.advanceTimersByTime(1_000);
    expect(deeds).toEqual([]);
    silence = 1_000;
    vi.advanceTimersByTime(990);
    expect(deeds).toEqual(["ask"]);
  });

  it("is not counted while the consumer is what is waited for", () => {
    const { deeds } = begin({ silenceMs: () => undefined });
    vi.advanceTimersByTime(100_000);
    expect(deeds).toEqual([]);
  });
});

it("an end goes from the clean stop to SIGTERM at half of stopMs and to KILL at stopMs", () => {
  const { life, deeds } = begin();
  life.send({ type: "end", cause: { kind: "stopped", reason: "x" } });
  vi.advanceTimersByTime(199);
  expect(deeds).toEqual(["ask"]);
  vi.advanceTimersByTime(1);
  expect(deeds).toEqual(["ask", "terminate"]);
  vi.advanceTimersByTime(200);
  expect(deeds).toEqual(["ask", "terminate", "kill"]);
});

it("a tree whose end cannot be told is unproven, and the run settles", async () => {
  const { life, endings } = begin({ endTree: () => Promise.reject(new Error("EMFILE")) });
  life.send({ type: "exited", exit: { code: 0, signal: null } });
  vi.advanceTimersByTime(2_000);
  await life.result;
  expect(endings).toMatchObject([{ extinction: { state: "unproven", method: "failed: Error: EMFILE" } }]);
});
