// Fan-outs that are killed: at each step of a run, and, as a tenth of `node soak/fanout.mjs`, at random moments.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readFanOut } from "../../src/fanout/index.ts";
import { STEPS, type Step } from "../../src/journal/steps.ts";
import { DIST, killRest, livingOf } from "../journal/support.ts";
import { leftovers } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { fanOutsOf, makeStage, readOutcomes, runAll, type Stage, worktreesOf } from "./support.ts";

const PROGRAM = fileURLToPath(new URL("../../soak/fanout.mjs", import.meta.url));

/** Runs one task and stops, whole, at the step. */
const HALTING = `
import { writeFileSync } from "node:fs";
const { dist, step, tasks, options } = JSON.parse(process.argv[2]);
const { fanOut } = await import(dist + "/fanout/index.js");
const { listenToSteps } = await import(dist + "/journal/steps.js");
listenToSteps((reached) => {
  if (reached !== step) return;
  writeFileSync(1, "halted\\n");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
for await (const _ of fanOut(tasks, options));
`;

let stage: Stage;
beforeEach(async () => {
  // What it has done is seen in the home, which is no worktree's.
  stage = await makeStage({
    steps: [{ tools: [{ shell: 'echo work >>"$HOME/worked"' }] }, { text: "done" }],
  });
});
afterEach(async () => {
  killRest(stage);
  await stage.remove();
});

/** From here the end of the run is on the disk: the task is not run again. */
const SETTLED: readonly Step[] = ["ended", "unwatched", "result_delivered"];

describe.skipIf(process.platform !== "linux")("a fan-out that is killed", () => {
  test.each(STEPS)("at %s brings its task to one end", async (step) => {
    const { onProgress: _none, ...options } = stage.options;
    const guard = { PreToolUse: [{ hooks: [{ type: "command", command: ["/bin/true"] }] }] };
    const given = { ...options, hooks: guard, worktree: true };
    const tasks = [{ id: "only", prompt: "p" }];
    const program = join(stage.home, "halting.mjs");
    writeFileSync(program, HALTING);
    const child = spawn(
      process.execPath,
      [program, JSON.stringify({ dist: DIST, step, tasks, options: given })],
      {
        env: { ...stage.env },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");

    const started: string[] = [];
    const resume = fanOutsOf(stage)[0] ?? "";
    const onProgress = ({ type }: { type: string }) => {
      if (type !== "attempt_started") return;
      // Nothing of the dead run may live when another one begins.
      started.push(livingOf(stage).length === 0 ? "alone" : "beside another");
    };
    await runAll(stage, undefined, { ...given, resume, onProgress } as never);
    const isSettled = SETTLED.includes(step);
    expect(started).toEqual(isSettled ? [] : ["alone"]);
    expect(readOutcomes(stage).map(({ id, outcome, attempts }) => [id, outcome, attempts])).toEqual([
      ["only", "success", isSettled ? 1 : 2],
    ]);
    if (isSettled) expect(readFileSync(join(stage.home, "worked"), "utf8")).toBe("work\n");
    const record = await readFanOut(resume, { stateDir: stage.stateDir });
    expect(record.endedAt).toEqual(expect.any(String));
    expect([worktreesOf(stage), await leftovers(stage)]).toEqual([[], []]);
    await waitUntil(() => livingOf(stage).length === 0, "the end of what was left");
  });

  test("again and again brings every task to one end and leaves nothing", async () => {
    const words = [PROGRAM, "--tasks", "50", "--kills", "4", "--dist", DIST];
    const { stdout } = await promisify(execFile)(process.execPath, words);
    // It exits 1, and execFile rejects with what it said, when one does not hold.
    expect(stdout).toMatch(/\b(\d+) of \1 checks hold/);
  }, 300_000);
});
