// What a fan-out makes of the state that a dead one left, at each point at which it may have died.

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RUN_MARKER } from "../../src/exec/run-marker.ts";
import { startTimeOf } from "../../src/exec/sweep.ts";
import type { FanOutOptions, FanOutProgress } from "../../src/fanout/index.ts";
import { fanOut, readFanOut } from "../../src/fanout/index.ts";
import { fanOutDirectory, openState } from "../../src/fanout/open-state.ts";
import { createFanOutState, type FanOutState, openFanOutState } from "../../src/fanout/state.ts";
import type { TaskSpec } from "../../src/fanout/task.ts";
import { addWorktree } from "../../src/fanout/worktree.ts";
import type { AgentHooksRefused } from "../../src/index.ts";
import { ownIdentity } from "../../src/journal/process-identity.ts";
import { admittedLine, writeJournal } from "../journal/lost-run.ts";
import { journalsOf } from "../journal/support.ts";
import { isAlive } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { collect, fanOutsOf, makeStage, runAll, type Stage, worktreesOf } from "./support.ts";

let stage: Stage;
const strays: ChildProcess[] = [];
beforeEach(async () => {
  stage = await makeStage();
});
afterEach(async () => {
  for (const child of strays.splice(0)) child.kill("SIGKILL");
  await stage.remove();
});

const DIRECTORY = () => fanOutDirectory(stage.stateDir, fanOutsOf(stage)[0] ?? "");
const base = () => stage.git("rev-parse", "HEAD").trim();

/** A fan-out of some tasks, before anything of it was started. */
async function begin(
  changes: readonly Partial<TaskSpec>[] = [{}],
): Promise<{ id: string; state: FanOutState }> {
  const id = randomUUID();
  const specs = changes.map((change, index): TaskSpec => {
    const spec = {
      index,
      id: String(index),
      prompt: `p${index}`,
      cwd: stage.cwd,
      worktree: false,
      provider: "claude",
    };
    return { ...spec, ...change } as TaskSpec;
  });
  const bases = new Map(specs.map(({ index }) => [index, base()]));
  const made = { id, digest: "d", source: undefined, note: {}, specs, bases };
  return { id, state: await createFanOutState(fanOutDirectory(stage.stateDir, id), made) };
}

/** One whose only task was being run. */
async function dieRunning(): Promise<{ id: string; runId: string }> {
  const { id, state } = await begin();
  const runId = randomUUID();
  state.startAttempt(0, { runId });
  state.close();
  return { id, runId };
}

async function resume(id: string, options: Partial<FanOutOptions> = {}) {
  const said: FanOutProgress[] = [];
  const onProgress = (progress: FanOutProgress) => void said.push(progress);
  const endings = await runAll(stage, undefined, { resume: id, onProgress, ...options });
  return { endings, said };
}

async function startStray(runId: string): Promise<number> {
  const child = spawn("sleep", ["1000"], {
    env: { ...stage.env, [RUN_MARKER]: runId },
    detached: true,
    stdio: "ignore",
  });
  strays.push(child);
  const { pid } = child;
  if (pid === undefined) throw new Error("no sleep here");
  await waitUntil(() => startTimeOf(pid) !== undefined, "the stray");
  return pid;
}

describe("a task that ran", () => {
  test("and of whose run nothing was written down is run again", async () => {
    const { id } = await dieRunning();
    const { endings } = await resume(id);
    expect(endings).toMatchObject([{ outcome: "success", attempts: 2, finalText: "p0" }]);
    const { tasks } = await readFanOut(id, { stateDir: stage.stateDir });
    expect(tasks[0]?.attempts).toMatchObject([
      { outcome: "lost", endedAt: expect.any(String) },
      { outcome: "success" },
    ]);
  });

  test("is lost for good when that is asked for", async () => {
    const { id } = await dieRunning();
    const { endings } = await resume(id, { onLost: "fail" });
    expect(endings).toMatchObject([{ outcome: "lost", attempts: 1 }]);
  });

  test("is run again only when what carries its marker is gone", async () => {
    const { id, runId } = await dieRunning();
    const pid = await startStray(runId);
    await resume(id, {
      onProgress: (progress) => {
        if (progress.type === "attempt_started") expect(isAlive(pid)).toBe(false);
      },
    });
    expect(isAlive(pid)).toBe(false);
  });

  test("has its run settled by its record first", async () => {
    const { id, runId } = await dieRunning();
    await writeJournal(stage, runId, [admittedLine(stage, runId, { marker: runId })]);
    const { endings } = await resume(id);
    expect(endings).toMatchObject([{ outcome: "success", attempts: 2 }]);
    expect(existsSync(join(journalsOf(stage), `${runId}.jsonl`))).toBe(false);
  });

  test("and whose run had come to its end keeps that outcome, and is not run again", async () => {
    const { id, runId } = await dieRunning();
    const ended = {
      type: "ended",
      at: new Date().toISOString(),
      by: "supervisor",
      exitDelivery: "none",
    } as const;
    await writeJournal(stage, runId, [
      admittedLine(stage, runId, { marker: runId }),
      { ...ended, outcome: "success", reason: "completed" },
    ]);
    await mkdir(join(journalsOf(stage), "ended"), { recursive: true });
    await rename(
      join(journalsOf(stage), `${runId}.jsonl`),
      join(journalsOf(stage), "ended", `${runId}.jsonl`),
    );
    const { endings, said } = await resume(id);
    expect(endings).toMatchObject([{ outcome: "success", reason: "completed", attempts: 1 }]);
    expect(said.map(({ type }) => type)).not.toContain("attempt_started");
  });

  test("and was stopped with its fan-out is run again", async () => {
    const { id, runId } = await dieRunning();
    const ended = {
      type: "ended",
      at: new Date().toISOString(),
      by: "supervisor",
      exitDelivery: "none",
    } as const;
    await writeJournal(stage, runId, [
      admittedLine(stage, runId, { marker: runId }),
      { ...ended, outcome: "interrupted", reason: "supervisor_stopping: SIGTERM" },
    ]);
    const { endings } = await resume(id);
    expect(endings).toMatchObject([{ outcome: "success", attempts: 2 }]);
  });

  test.each([
    [
      "its supervisor cannot be seen from here",
      { supervisor: { ...ownIdentity(), pidNamespace: "pid:[1]" } },
      "elsewhere",
    ],
    ["its supervisor lives", { supervisor: ownIdentity() }, "running"],
  ] as const)("is not run again when %s", async (_name, changes, word) => {
    const { id, runId } = await dieRunning();
    await writeJournal(stage, runId, [admittedLine(stage, runId, { marker: runId, ...changes })]);
    const { endings, said } = await resume(id);
    expect(endings).toMatchObject([
      { outcome: "lost", attempts: 1, reason: expect.stringContaining(`not_proven_dead: ${word}`) },
    ]);
    expect(said.map(({ type }) => type)).not.toContain("attempt_started");
  });

  test("is not run again when the record of its run cannot be trusted", async () => {
    const { id, runId } = await dieRunning();
    mkdirSync(journalsOf(stage), { recursive: true, mode: 0o700 });
    writeFileSync(join(journalsOf(stage), `${runId}.jsonl`), "{", { mode: 0o600 });
    const { endings } = await resume(id);
    expect(endings).toMatchObject([
      { outcome: "lost", attempts: 1, reason: expect.stringContaining("unreadable") },
    ]);
  });

  test("keeps its worktree when what works in it may live", async () => {
    const { id, state } = await begin([{ worktree: true }]);
    const runId = randomUUID();
    const path = join(DIRECTORY(), "worktrees", "0-left");
    state.startAttempt(0, { runId, worktree: { path, repository: stage.cwd } });
    state.close();
    await addWorktree(stage.cwd, path, base());
    const supervisor = { ...ownIdentity(), pidNamespace: "pid:[1]" };
    await writeJournal(stage, runId, [admittedLine(stage, runId, { marker: runId, supervisor })]);
    const { endings } = await resume(id, { keepWorktree: "never" });
    expect(endings).toMatchObject([{ outcome: "lost", worktrees: [path] }]);
    expect(worktreesOf(stage)).toEqual([path]);
  });

  test("is run again when its supervisor is said to be dead", async () => {
    const { id, runId } = await dieRunning();
    const supervisor = { ...ownIdentity(), pidNamespace: "pid:[1]" };
    await writeJournal(stage, runId, [admittedLine(stage, runId, { marker: runId, supervisor })]);
    const { endings } = await resume(id, { assumeDead: true });
    expect(endings).toMatchObject([{ outcome: "success", attempts: 2 }]);
  });
});

describe("a task that had finished", () => {
  test("is not run again, and stands in the file of outcomes once", async () => {
    const { id, state } = await begin([{}, {}]);
    const attempt = state.startAttempt(0, { runId: randomUUID() });
    const ended = { outcome: "success", reason: "completed", class: "success", finalText: "before" } as const;
    state.endAttempt(0, attempt, ended, { state: "finished", outcome: "success", reason: "completed" });
    state.close();
    const { endings } = await resume(id);
    expect(endings.map(({ index }) => index)).toEqual([1]);
    const { readOutcomes } = await import("./support.ts");
    expect(readOutcomes(stage).map(({ index, finalText }) => [index, finalText])).toEqual([
      [0, "before"],
      [1, "p1"],
    ]);
  });

  test("has its worktree removed, also one that was made in part", async () => {
    const { id, state } = await begin([{ worktree: true }, { worktree: true }]);
    const paths = [0, 1].map((index) => {
      const path = join(DIRECTORY(), "worktrees", `${index}-left`);
      const attempt = state.startAttempt(index, {
        runId: randomUUID(),
        worktree: { path, repository: stage.cwd },
      });
      const ended = { outcome: "success", reason: "completed", class: "success" } as const;
      state.endAttempt(index, attempt, ended, { state: "finished", outcome: "success", reason: "completed" });
      return path;
    });
    state.close();
    await addWorktree(stage.cwd, paths[0] ?? "", base());
    mkdirSync(paths[1] ?? "", { recursive: true });
    await resume(id);
    expect([...paths.map((path) => existsSync(path)), worktreesOf(stage)]).toEqual([false, false, []]);
    expect((await readFanOut(id, { stateDir: stage.stateDir })).endedAt).toEqual(expect.any(String));
  });

  test("leaves no worktree that a git made after its fan-out was dead", async () => {
    const { id, state } = await begin([{ worktree: true }]);
    state.close();
    await addWorktree(stage.cwd, join(DIRECTORY(), "worktrees", "0-stray"), base());
    await resume(id);
    expect(worktreesOf(stage)).toEqual([]);
  });
});

describe("one process at a time", () => {
  const refusal = (given: Promise<unknown>) =>
    given.then(
      () => undefined,
      (error: AgentHooksRefused) => error.issues?.[0] ?? error,
    );

  test("a second one is refused, naming the first", async () => {
    const { id, state } = await begin();
    const child = spawn("sleep", ["1000"], { stdio: "ignore" });
    strays.push(child);
    const pid = child.pid ?? 0;
    await waitUntil(() => startTimeOf(pid) !== undefined, "the other process");
    state.close();
    const identity = { ...ownIdentity(), pid, startTime: startTimeOf(pid) };
    const database = await openState(DIRECTORY(), {});
    database.prepare("UPDATE fan_out SET supervisor = ?").run(JSON.stringify(identity));
    database.close();
    expect(await refusal(resume(id))).toMatchObject({
      code: "fan_out_busy",
      message: expect.stringContaining(`process ${pid} `),
    });
    child.kill("SIGKILL");
    await waitUntil(() => !isAlive(pid), "its end");
    expect((await resume(id)).endings).toMatchObject([{ outcome: "success" }]);
  });

  test("also within one process", async () => {
    await stage.play({ steps: [{ text: "up" }, { sins: ["hang"] }] });
    const tasks = [{ prompt: "a" }];
    let second: Promise<unknown> | undefined;
    const fan = fanOut(tasks, {
      ...stage.options,
      onProgress: (progress) => {
        if (progress.type !== "event" || progress.event.type !== "message" || second !== undefined) return;
        second = refusal(runAll(stage, tasks)).then((it) => fan.stop().then(() => it));
      },
    });
    await collect(fan);
    expect(await second).toMatchObject({
      code: "fan_out_busy",
      message: expect.stringContaining(`process ${process.pid} `),
    });
  });

  test("a resume with other tasks is refused", async () => {
    const { id, state } = await begin();
    state.close();
    expect(await refusal(runAll(stage, [{ prompt: "other" }], { resume: id }))).toMatchObject({
      code: "fan_out_mismatch",
    });
    expect(await refusal(runAll(stage, undefined, { resume: randomUUID() }))).toMatchObject({
      code: "fan_out_mismatch",
    });
    const after = await openFanOutState(DIRECTORY());
    expect(after.supervisor()).toBe(undefined);
    after.close();
  });

  test("a finished one of the same tasks is no reason not to begin anew", async () => {
    await runAll(stage, [{ prompt: "a" }]);
    expect(await runAll(stage, [{ prompt: "a" }])).toHaveLength(1);
    expect(fanOutsOf(stage)).toHaveLength(2);
  });
});
