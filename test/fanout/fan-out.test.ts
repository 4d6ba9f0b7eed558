// Many tasks through a fake agent: what is run, what is told, what is kept.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FanOutProgress, fanOut, listFanOuts, readFanOut } from "../../src/fanout/index.ts";
import { type AgentHooksRefused, stopRun } from "../../src/index.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import {
  collect,
  DENY_RM,
  fanOutsOf,
  makeStage,
  NO_GUARD,
  readOutcomes,
  runAll,
  type Stage,
  worktreesOf,
  writeScript,
} from "./support.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await makeStage();
});
afterEach(() => stage.remove());

const refusalOf = async (given: Promise<unknown>) =>
  given.then(
    () => {
      throw new Error("it was not refused");
    },
    (error: AgentHooksRefused) => {
      if (error.issues === undefined) throw error;
      return error.issues;
    },
  );

describe("a fan-out", () => {
  test("of the same tasks, begun twice at the same time, is one", async () => {
    const tasks = [{ prompt: "a" }, { prompt: "b" }, { prompt: "c" }];
    const both = await Promise.allSettled([runAll(stage, tasks), runAll(stage, tasks)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = both.find(({ status }) => status === "rejected") as PromiseRejectedResult;
    expect((refused.reason as AgentHooksRefused).issues).toMatchObject([{ code: "fan_out_busy" }]);
    expect(fanOutsOf(stage)).toHaveLength(1);
    expect(readdirSync(join(stage.stateDir, "receipts"))).toHaveLength(tasks.length);
  });

  test("ends what runs when it is left while the next ending is waited for", async () => {
    await stage.play({ steps: [{ text: "up" }, { sins: ["hang"] }] });
    const iterator = fanOut([{ prompt: "a" }], stage.options)[Symbol.asyncIterator]();
    const next = iterator.next();
    await expect.poll(() => fanOutsOf(stage).length, { timeout: 20_000 }).toBe(1);
    await iterator.return?.();
    await next;
    const [id = ""] = fanOutsOf(stage);
    expect(await listFanOuts({ stateDir: stage.stateDir })).toMatchObject([{ id, state: "unfinished" }]);
  });

  test("runs every task once and tells how each ended", async () => {
    const endings = await runAll(stage, [{ prompt: "a" }, { id: "second", prompt: "b" }, { prompt: "c" }]);
    expect(endings).toMatchObject([
      {
        index: 0,
        id: "0",
        outcome: "success",
        reason: "completed",
        attempts: 1,
        finalText: "a",
        costUsd: 0.01,
      },
      { index: 1, id: "second", outcome: "success", finalText: "b", turns: 1, denied: 0, provider: "claude" },
      { index: 2, id: "2", outcome: "success", finalText: "c" },
    ]);
    const [id = ""] = fanOutsOf(stage);
    expect(readOutcomes(stage)).toEqual(endings);
    const record = await readFanOut(id, { stateDir: stage.stateDir });
    expect(record).toMatchObject({
      id,
      endedAt: expect.any(String),
      tasks: [{ state: "finished", attempts: [{ attempt: 1, outcome: "success", costUsd: 0.01 }] }, {}, {}],
    });
    const runIds = record.tasks.flatMap(({ attempts }) => attempts.map(({ runId }) => runId));
    expect(readdirSync(join(stage.stateDir, "receipts")).sort()).toEqual(
      runIds.map((it) => `${it}.jsonl`).sort(),
    );
    expect(await listFanOuts({ stateDir: stage.stateDir })).toMatchObject([
      { id, state: "finished", tasks: 3, finished: 3 },
    ]);
  });

  test("fills the template with the fields of each task, whose own prompt wins", async () => {
    const tasks = [
      { file: "a.ts", line: 3 },
      { file: "b.ts", line: 4, prompt: "its own {{file}}" },
    ];
    const endings = await runAll(stage, tasks, { prompt: "Fix {{file}}:{{ line }} ({{index}})" });
    expect(endings.map(({ finalText }) => finalText)).toEqual(["Fix a.ts:3 (0)", "its own {{file}}"]);
  });

  test("tells calls that a guard denied", async () => {
    await stage.play({ steps: [{ tools: [{ shell: "rm -r build" }, { shell: "true" }] }, { text: "done" }] });
    const [ending] = await runAll(stage, [{ prompt: "a" }], { hooks: DENY_RM });
    expect(ending).toMatchObject({ outcome: "success", denied: 1 });
  });

  test("keeps its state from others", async () => {
    await runAll(stage, [{ prompt: "a" }]);
    const folder = join(stage.stateDir, "fanouts", fanOutsOf(stage)[0] ?? "");
    const modes = [folder, join(folder, "state.sqlite"), join(folder, "outcomes.jsonl")].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
  });

  test("never has more runs at a time than it may", async () => {
    let live = 0;
    let most = 0;
    const onProgress = ({ type }: FanOutProgress) => {
      live += type === "attempt_started" ? 1 : type === "attempt_ended" ? -1 : 0;
      most = Math.max(most, live);
    };
    await runAll(
      stage,
      Array.from({ length: 7 }, (_, at) => ({ prompt: String(at) })),
      { concurrency: 3, onProgress },
    );
    expect(most).toBe(3);
  });

  test("takes tasks from an async iterable", async () => {
    async function* tasks() {
      yield { prompt: "a" };
      yield { prompt: "b" };
    }
    expect(await collect(fanOut(tasks(), stage.options))).toHaveLength(2);
  });

  test("names every bad task at once, and makes nothing", async () => {
    const tasks = [
      { prompt: "a", cwd: "nowhere" },
      { prompt: 7 as unknown as string, maxTurns: 1.5 },
      { id: "x", prompt: "a", modle: "m" },
      { id: "x", prompt: "b" },
      { id: "x" },
      { id: "c", prompt: "a", provider: "codex" as const, maxCostUsd: 1 },
    ];
    const issues = await refusalOf(runAll(stage, tasks));
    expect(issues.map(({ path }) => path)).toEqual([
      "tasks[0] cwd",
      "tasks[1] prompt",
      "tasks[1] maxTurns",
      "tasks[2] modle",
      "tasks[4] prompt",
      "tasks[5] maxCostUsd",
    ]);
    expect(issues[3]?.hint).toContain("model");
    expect(existsSync(stage.stateDir)).toBe(false);
    expect(await refusalOf(runAll(stage, tasks.slice(3, 4).concat({ id: "x", prompt: "c" })))).toMatchObject([
      { path: "tasks[1] id", message: '"x" is also the id of tasks[0]' },
    ]);
  });

  test("refuses what cannot be compiled before it makes anything", async () => {
    const hooks = { PreToolUse: [{ hooks: [{ type: "command" as const, command: ["./not-there"] }] }] };
    expect(await refusalOf(runAll(stage, [{ prompt: "a" }], { hooks }))).toMatchObject([
      { code: "command_not_found" },
    ]);
    expect(fanOutsOf(stage)).toEqual([]);
  });

  test("asks once for each different declaration", async () => {
    const asked: unknown[] = [];
    const { compileAgentHooks } = await import("../../src/index.ts");
    const own = join(stage.cwd, "own.yaml");
    const tasks = [
      { prompt: "a" },
      { prompt: "b" },
      { prompt: "c", hooks: "own.yaml" },
      { prompt: "d", hooks: own },
    ];
    await runAll(stage, tasks, {
      hooks: async ({ file, provider }) => {
        asked.push(file);
        const { binary = "", cwd = "" } = stage.options;
        return compileAgentHooks(DENY_RM, { provider, cwd, binary, prove: "off" });
      },
    });
    expect(asked).toEqual([undefined, own]);
  });

  test("stops what runs when it is not read any more, and is resumed", async () => {
    await stage.play({ steps: [{ text: "up" }, { sins: ["hang"] }] });
    const tasks = [{ prompt: "a" }, { prompt: "b" }, { prompt: "c" }];
    const fan = fanOut(tasks, {
      ...stage.options,
      onProgress: (progress) => {
        if (progress.type === "event" && progress.event.type === "message") void fan.stop("enough");
      },
    });
    expect(await collect(fan)).toEqual([]);
    const [id = ""] = fanOutsOf(stage);
    const record = await readFanOut(id, { stateDir: stage.stateDir });
    expect(record.tasks.map(({ state }) => state)).toEqual(["waiting", "waiting", "waiting"]);
    expect(record.tasks[0]?.attempts).toMatchObject([
      { outcome: "interrupted", reason: expect.stringMatching(/^supervisor_stopping.*enough/) },
    ]);
    await stage.play({ steps: [{ text: "done" }] });
    expect((await runAll(stage, tasks)).map(({ outcome }) => outcome)).toEqual([
      "success",
      "success",
      "success",
    ]);
    expect(fanOutsOf(stage)).toEqual([id]);
  });
});

describe("a worktree", () => {
  const base = { worktree: true, hooks: DENY_RM };

  test("is made for each task from the base, and removed", async () => {
    await stage.play({
      steps: [
        { tools: [{ shell: '(pwd; cat README.md) >"$(mktemp "$HOME/pwd-XXXXXX")"' }] },
        { text: "done" },
      ],
    });
    writeFileSync(join(stage.cwd, "README.md"), "changed\n");
    const endings = await runAll(stage, [{ prompt: "a" }, { prompt: "b" }], base);
    expect(endings.map(({ outcome, worktrees }) => [outcome, worktrees])).toEqual([
      ["success", undefined],
      ["success", undefined],
    ]);
    const notes = readdirSync(stage.home).filter((name) => name.startsWith("pwd-"));
    const [one, other] = notes.map((name) => readFileSync(join(stage.home, name), "utf8").split("\n"));
    expect(one?.[0]).not.toBe(other?.[0]);
    expect([one?.[1], other?.[1]]).toEqual(["one", "one"]);
    expect(worktreesOf(stage)).toEqual([]);
    expect(existsSync(one?.[0] ?? "")).toBe(false);
  });

  test("is kept and told when it holds changes", async () => {
    await stage.play({
      steps: [{ tools: [{ write: { path: "new.txt", content: "work\n" } }] }, { text: "done" }],
    });
    const [ending] = await runAll(stage, [{ prompt: "a" }], base);
    const [path = ""] = ending?.worktrees ?? [];
    expect(readFileSync(join(path, "new.txt"), "utf8")).toBe("work\n");
    expect(worktreesOf(stage)).toEqual([path]);
  });

  test("is kept for commits of its own", async () => {
    const commit = "git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m two";
    await stage.play({ steps: [{ tools: [{ shell: commit }] }, { text: "done" }] });
    const [ending] = await runAll(stage, [{ prompt: "a" }], base);
    expect(ending?.worktrees).toHaveLength(1);
  });

  test.each([
    ["always", "{{prompt}}", 1],
    ["never", "work", 0],
  ] as const)("stays as keepWorktree says: %s", async (keepWorktree, content, count) => {
    const tools = keepWorktree === "never" ? [{ write: { path: "new.txt", content } }] : [];
    await stage.play({ steps: [{ tools }, { text: "done" }] });
    const [ending] = await runAll(stage, [{ prompt: "a" }], { ...base, keepWorktree });
    expect(ending?.worktrees ?? []).toHaveLength(count);
    expect(worktreesOf(stage)).toHaveLength(count);
  });

  test("shows the folder of the task below its top", async () => {
    mkdirSync(join(stage.cwd, "sub"));
    writeFileSync(join(stage.cwd, "sub", "file"), "x\n");
    stage.git("add", ".");
    stage.git("commit", "--quiet", "-m", "sub");
    await stage.play({ steps: [{ tools: [{ shell: 'cat file >"$HOME/seen"' }] }, { text: "done" }] });
    await runAll(stage, [{ prompt: "a", cwd: "sub" }], base);
    expect(readFileSync(join(stage.home, "seen"), "utf8")).toBe("x\n");
  });

  test("runs no hook of the repository", async () => {
    const hook = join(stage.cwd, ".git", "hooks", "post-checkout");
    mkdirSync(join(hook, ".."), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\ntouch '${stage.home}/hooked'\n`, { mode: 0o755 });
    await runAll(stage, [{ prompt: "a" }], base);
    expect(existsSync(join(stage.home, "hooked"))).toBe(false);
  });

  test("cannot be made of what is no repository: told before anything is made", async () => {
    const cwd = join(stage.home, "plain");
    mkdirSync(cwd);
    const issues = await refusalOf(
      runAll(
        stage,
        [
          { prompt: "a", cwd },
          { prompt: "b", base: "nope" },
        ],
        base,
      ),
    );
    expect(issues.map(({ path }) => path)).toEqual(["task 0 worktree", "task 1 worktree"]);
    expect(fanOutsOf(stage)).toEqual([]);
  });
});

describe("budgets", () => {
  test("a run that goes over the cost of its task is told as such", async () => {
    const [ending] = await runAll(stage, [{ prompt: "a", maxCostUsd: 0.005 }]);
    expect(ending).toMatchObject({
      outcome: "timed_out",
      reason: "budget_exceeded: cost 0.005 USD",
      costUsd: 0.01,
    });
  });

  test("a run that takes too long is ended", async () => {
    await stage.play({ steps: [{ text: "up" }, { sins: ["hang"] }] });
    const [ending] = await runAll(stage, [{ prompt: "a", maxSeconds: 1 }]);
    expect(ending).toMatchObject({ outcome: "timed_out", reason: "budget_exceeded: time 1 s", attempts: 1 });
  });

  test("what an earlier try has used up is not there for the next", async () => {
    await stage.play({ steps: [{ text: "up" }], sins: ["fail-turn"] });
    const [ending] = await runAll(stage, [{ prompt: "a", maxTurns: 1 }]);
    expect(ending).toMatchObject({ outcome: "timed_out", reason: "budget_exceeded: turns 1", attempts: 2 });
  });

  test("a total time that is over stops admission, and what runs goes on", async () => {
    let time = 0;
    const endings = await runAll(stage, [{ prompt: "a" }, { prompt: "b" }], {
      concurrency: 1,
      totalSeconds: 5,
      backoff: { now: () => time },
      onProgress: ({ type }) => {
        if (type === "attempt_started") time += 6_000;
      },
    });
    expect(endings).toMatchObject([
      { outcome: "success" },
      { outcome: "skipped", reason: "budget_exceeded: 5 s in total" },
    ]);
  });

  test("a total that is spent stops admission: the rest is skipped, and runs when asked to", async () => {
    const tasks = Array.from({ length: 5 }, (_, at) => ({ prompt: String(at) }));
    const told: string[] = [];
    const options = { concurrency: 1, totalCostUsd: 0.02 };
    const endings = await runAll(stage, tasks, {
      ...options,
      onProgress: (it) => void (it.type === "admission_stopped" && told.push(it.reason)),
    });
    expect(endings.map(({ outcome }) => outcome)).toEqual([
      "success",
      "success",
      "skipped",
      "skipped",
      "skipped",
    ]);
    expect(endings[4]).toMatchObject({ reason: "budget_exceeded: 0.02 USD in total", attempts: 0 });
    expect(told).toEqual(["budget_exceeded: 0.02 USD in total"]);
    const [resume = ""] = fanOutsOf(stage);
    expect(await runAll(stage, undefined, { resume })).toEqual([]);
    const rest = await runAll(stage, undefined, { resume, runSkipped: true });
    expect(rest.map(({ index, outcome }) => [index, outcome])).toEqual([
      [2, "success"],
      [3, "success"],
      [4, "success"],
    ]);
    expect(readOutcomes(stage)).toHaveLength(5);
  });
});

describe("further tries", () => {
  const DOWN: FakeScript = { steps: [{ text: "up" }], sins: ["fail-turn"] };

  test("a failure in passing is tried again, in the same session and the same worktree", async () => {
    await stage.play({ ...DOWN, steps: [{ tools: [{ write: { path: "half.txt", content: "half\n" } }] }] });
    const asked: FanOutProgress[] = [];
    const [ending] = await runAll(stage, [{ prompt: "a" }], {
      worktree: true,
      onProgress: (progress) => {
        asked.push(progress);
        if (progress.type === "attempt_ended")
          writeScript(stage, { steps: [{ tools: [{ shell: "cat half.txt" }] }, { text: "{{prompt}}" }] });
      },
    });
    expect(ending).toMatchObject({ outcome: "success", attempts: 2 });
    expect(ending?.finalText).toMatch(/^An error of the service.*Go on where you stopped.*\n\na$/s);
    const folders = asked.flatMap((it) => (it.type === "attempt_started" ? it.cwd : []));
    expect(new Set(folders).size).toBe(1);
    expect(ending?.worktrees).toEqual([folders[0]]);
    expect(readdirSync(join(stage.stateDir, "sessions"))).toEqual([]);
  });

  test("a session that is not to be gone on with begins anew, in a worktree of its own", async () => {
    await stage.play(DOWN);
    const folders: string[] = [];
    const [ending] = await runAll(stage, [{ prompt: "a" }], {
      worktree: true,
      session: "fresh",
      onProgress: (progress) => {
        if (progress.type === "attempt_started") folders.push(progress.cwd);
        if (progress.type === "attempt_ended") writeScript(stage, { steps: [{ text: "{{prompt}}" }] });
      },
    });
    expect(ending).toMatchObject({ outcome: "success", attempts: 2, finalText: "a" });
    expect(new Set(folders).size).toBe(2);
    expect(worktreesOf(stage)).toEqual([]);
  });

  test("a session is not gone on with under other hooks", async () => {
    await stage.play(DOWN);
    const tasks = [{ prompt: "a" }];
    const fan = fanOut(tasks, {
      ...stage.options,
      hooks: DENY_RM,
      backoff: { baseMs: 600_000, random: () => 0.01 },
      onProgress: ({ type }) => {
        if (type === "attempt_ended") void fan.stop();
      },
    });
    expect(await collect(fan)).toEqual([]);
    await stage.play({ steps: [{ text: "done" }] });
    const [ending] = await runAll(stage, tasks, { hooks: NO_GUARD });
    expect(ending).toMatchObject({
      outcome: "refused",
      attempts: 2,
      reason: expect.stringContaining("resume_mismatch"),
    });
  });

  test("ends after so many", async () => {
    await stage.play(DOWN);
    const [ending] = await runAll(stage, [{ prompt: "a" }], { retries: 2 });
    expect(ending).toMatchObject({ outcome: "failed", reason: "api_error", attempts: 3 });
  });

  test("a deterministic failure is not tried again", async () => {
    await stage.play({ steps: [{ text: "up" }], sins: [{ "exit-code": 3 }] });
    const [ending] = await runAll(stage, [{ prompt: "a" }]);
    expect(ending).toMatchObject({ outcome: "failed", attempts: 1 });
  });

  test("a refused start is not tried again", async () => {
    const hooks = {
      ...NO_GUARD,
      agent_prompt: [
        { hooks: [{ type: "function" as const, handler: () => ({ decision: "block", reason: "no" }) }] },
      ],
    };
    const [ending] = await runAll(stage, [{ prompt: "a" }], { hooks });
    expect(ending).toMatchObject({
      outcome: "refused",
      attempts: 1,
      reason: expect.stringContaining("prompt_denied"),
    });
  });

  test.each([
    ["fail", "interrupted", 1],
    ["retry", "success", 2],
  ] as const)("what somebody else stopped: %s", async (onInterrupted, outcome, attempts) => {
    await stage.play({ steps: [{ text: "up" }, { sins: ["hang"] }] });
    let hasAsked = false;
    const [ending] = await runAll(stage, [{ prompt: "a" }], {
      onInterrupted,
      onProgress: (progress) => {
        if (hasAsked || progress.type !== "event" || progress.event.type !== "message") return;
        hasAsked = true;
        writeScript(stage, { steps: [{ text: "done" }] });
        void stopRun(progress.event.runId, { stateDir: stage.stateDir });
      },
    });
    expect(ending).toMatchObject({ outcome, attempts });
  });
});
