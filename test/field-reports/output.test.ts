// Reports of output that was held open, cut, too long or not read.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { FakeScript } from "../../src/testkit/index.ts";
import { livingIn } from "../spawn/escape-support.ts";
import * as fakes from "../testkit/support.ts";
import { behind, placeOfEachTest } from "./support.ts";

const at = placeOfEachTest();

const HOLDING = { sins: ["leave-child-holding-stdout"] } as const;
const PIPE_HELD = expect.objectContaining({ type: "warning", code: "pipe_held" });
const MEBIBYTE = 1024 * 1024;

// In a PID namespace the kernel closes what the descendant holds when the agent is gone.
test("field report 7: a run that timed out settles although a descendant keeps its output open", async () => {
  const { result, events } = await fakes.play(at.place, {
    provider: "claude",
    script: { steps: [HOLDING, { sins: ["hang"] }] },
    options: { containment: "sweep", deadlines: { wallMs: 300, stopMs: 200, drainMs: 100 } },
  });
  expect(result).toMatchObject({ outcome: "timed_out", reason: "wall", extinction: { survivors: [] } });
  expect(events).toContainEqual(PIPE_HELD);
  expect(livingIn(at.place)).toEqual([]);
});

test("field report 17: a silent child that holds the output does not hold the run, and is told as pipe_held", async () => {
  const { result, events } = await fakes.play(at.place, {
    provider: "claude",
    script: { steps: [{ ...HOLDING, text: "done" }] },
    options: { containment: "sweep", deadlines: { drainMs: 100 } },
  });
  expect(result.outcome).toBe("success");
  expect(events).toContainEqual(PIPE_HELD);
  expect(livingIn(at.place)).toEqual([]);
});

test.each(["claude", "codex"] as const)(
  "field report 14: %s exits 0 without a final message, and the run is incomplete",
  async (provider) => {
    const { result } = await fakes.play(at.place, {
      provider,
      script: { steps: [{ text: "done" }], sins: ["no-result"] },
    });
    expect(result).toMatchObject({ outcome: "incomplete", exitCode: 0 });
  },
);

test("field report 18: a last line of more than 65,536 bytes that was cut, with exit 0, is output_truncated and no success", async () => {
  const { result } = await fakes.play(at.place, {
    provider: "claude",
    script: { steps: [{ text: "{{prompt}}" }], sins: ["cut-last-line"] },
    options: { prompt: "p".repeat(65_536) },
  });
  expect(result).toMatchObject({ outcome: "incomplete", reason: "output_truncated", exitCode: 0 });
});

const LONG_LINE = (megabytes: number): FakeScript => ({ steps: [{ sins: [{ "long-line": megabytes }] }] });

test("field report 20: one line of 2 MB is read, and reading goes on", async () => {
  const { result, events } = await fakes.play(at.place, { provider: "claude", script: LONG_LINE(2) });
  expect(events.find(({ type }) => type === "message")).toMatchObject({ text: "x".repeat(2_000_000) });
  expect(result.outcome).toBe("success");
});

test("field report 20: a line of 17 MiB is skipped, told with its length and digest, and reading goes on", async () => {
  const bytes = 17 * MEBIBYTE;
  const print = `head -c ${bytes} /dev/zero | tr '\\000' x; echo`;
  const { result, events } = await fakes.play(at.place, {
    provider: "claude",
    script: { steps: [{ text: "after it" }] },
    wrap: behind(at.place, `${print}\nexec "$FAKE" "$@"`),
  });
  const sha256 = createHash("sha256").update("x".repeat(bytes)).digest("hex");
  expect(events).toContainEqual(expect.objectContaining({ type: "overflow", bytes, sha256 }));
  expect(result).toMatchObject({ outcome: "success", finalText: "after it" });
});
