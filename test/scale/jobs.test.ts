// Jobs from the queue to their outcome: order, limits, cancel, schedules, flows, refusals. Each with a worker in a process of its own.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type AgentQueue, createAgentQueue, declarationDigest } from "../../src/bullmq/index.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import { waitUntil } from "../watchdog/support.ts";
import { type Redis, startRedis } from "./redis.ts";
import { admittedRuns, endWorkers, makeScene, type Scene, SHORT_LEASE, startWorker } from "./support.ts";

let redis: Redis;
let scene: Scene;
let queue: AgentQueue;
let name: string;
let last = 0;

const SCRIPTS: Record<string, FakeScript> = {
  quick: { steps: [{ text: "{{prompt}}" }] },
  hanging: { steps: [{ text: "up" }, { sins: ["hang"] }] },
  working: {
    steps: [{ text: "up" }, { tools: [{ shell: "sleep 1; echo work >>agent.log" }] }, { text: "done" }],
  },
  failing: { steps: [{ text: "up" }, { sins: [{ crash: "SIGSEGV" }] }] },
};

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

beforeEach(async () => {
  name = `jobs-${last++}`;
  queue = await createAgentQueue({ connection: redis.url, name });
  scene = await makeScene({ workspaces: 3, scripts: SCRIPTS });
});
afterEach(async () => {
  await endWorkers();
  await queue.close();
  await scene?.remove();
});

const start = (options: Partial<Parameters<typeof startWorker>[1]> = {}, agent = "quick") =>
  startWorker(scene, { connection: redis.url, name, ...options }, { agent });
/** As BullMQ keeps them. */
const delayedIds = async () => {
  const { Queue } = await import("bullmq");
  const raw = new Queue(name, { connection: { path: redis.url.replace("unix://", "") } });
  try {
    return (await raw.getDelayed()).map(({ id }) => id ?? "");
  } finally {
    await raw.close();
  }
};
const wait = (jobId: string) => queue.wait(jobId, { timeoutMs: 60_000, pollMs: 50 });

test("a job runs under its declaration, and its outcome says what the agent said", async () => {
  const worker = await start();
  const declaration = await queue.publish(scene.declaration);
  const jobId = await queue.add(scene.job({ declaration, prompt: "say this" }));
  const { state, outcome, failedReason } = await wait(jobId);
  expect({ state, failedReason, problems: worker.problems() }).toEqual({
    state: "completed",
    failedReason: undefined,
    problems: [],
  });
  expect(outcome).toMatchObject({
    outcome: "success",
    finalText: "say this",
    attempt: 1,
    extinction: "swept",
  });
  expect(scene.exits()).toEqual([{ runId: outcome?.runId, outcome: "success", recovered: false }]);
  await worker.close();
});

test("jobs with a higher priority start first, equal ones in the order they came", async () => {
  const declaration = await queue.publish(scene.declaration);
  const order = [
    ["low", 0],
    ["second", 5],
    ["third", 5],
    ["first", 900],
  ] as const;
  const ids: string[] = [];
  for (const [prompt, priority] of order)
    ids.push(await queue.add(scene.job({ declaration, prompt }), { priority }));
  await start({ concurrency: 1 });
  const reports = await Promise.all(ids.map(wait));
  const runs = scene.exits().map(({ runId }) => runId);
  const said = runs.map(
    (runId) => reports.find(({ outcome }) => outcome?.runId === runId)?.outcome?.finalText,
  );
  expect(said).toEqual(["first", "second", "third", "low"]);
});

test("a delayed job does not start before its time", async () => {
  const declaration = await queue.publish(scene.declaration);
  const addedAt = Date.now();
  const jobId = await queue.add(scene.job({ declaration }), { delayMs: 1_500 });
  await start();
  const { outcome } = await wait(jobId);
  expect(outcome?.outcome).toBe("success");
  expect(Date.now() - addedAt).toBeGreaterThanOrEqual(1_500);
});

test("a schedule puts its job in again and again, and is taken away", async () => {
  const declaration = await queue.publish(scene.declaration);
  await queue.schedule("nightly", { everyMs: 600 }, scene.job({ declaration, prompt: "again" }));
  await expect(queue.schedule("bad", { cron: "" }, scene.job({ declaration }))).rejects.toMatchObject({
    issues: [{ code: "option_invalid", path: "cron" }],
  });
  await start();
  await waitUntil(() => scene.exits().length >= 3, "three scheduled runs");
  expect(await queue.unschedule("nightly")).toBe(true);
  expect(await queue.unschedule("nightly")).toBe(false);
});

describe("cancel", () => {
  test("a job that waits is removed, and never starts", async () => {
    const declaration = await queue.publish(scene.declaration);
    const jobId = await queue.add(scene.job({ declaration }));
    expect(await queue.cancel(jobId)).toBe("removed");
    expect(await queue.cancel(jobId)).toBe("unknown");
    const other = await queue.add(scene.job({ declaration, prompt: "other" }));
    await start();
    await wait(other);
    expect(scene.exits()).toHaveLength(1);
  });

  test("an agent that works is stopped, tells its agent_exit, and its job fails with the reason", async () => {
    await start({}, "hanging");
    const declaration = await queue.publish(scene.declaration);
    const jobId = await queue.add(scene.job({ declaration }));
    await waitUntil(async () => (await queue.report(jobId)).progress?.phase === "running", "a running agent");
    expect(await queue.cancel(jobId, "not needed")).toBe("asked");
    const { state, failedReason, outcome } = await wait(jobId);
    expect([state, failedReason]).toEqual(["failed", "interrupted: cancelled: not needed"]);
    expect(outcome).toMatchObject({ outcome: "interrupted", reason: "cancelled: not needed" });
    expect(scene.exits()).toMatchObject([{ outcome: "interrupted" }]);
    expect(await queue.cancel(jobId)).toBe("ended");
  });
});

describe("cancel of what waits for something else", () => {
  test("a parent is removed with its waiting children, and those that run are asked to stop", async () => {
    await start({ concurrency: 1 }, "hanging");
    const declaration = await queue.publish(scene.declaration);
    const [one = "", two = ""] = scene.workspaces;
    const root = await queue.addFlow({
      name: "root",
      job: scene.job({ declaration }),
      children: [
        {
          name: "running",
          job: scene.job({ declaration, cwd: one }),
          options: { jobId: "running", priority: 9 },
        },
        {
          name: "middle",
          job: scene.job({ declaration, cwd: two }),
          options: { jobId: "middle" },
          children: [{ name: "leaf", job: scene.job({ declaration, cwd: two }), options: { jobId: "leaf" } }],
        },
      ],
    });
    await waitUntil(
      async () => (await queue.report("running")).progress?.phase === "running",
      "a running agent",
    );
    expect(await queue.cancel(root, "not\nneeded")).toBe("removed");
    for (const jobId of [root, "middle", "leaf"]) expect((await queue.report(jobId)).state).toBe("unknown");
    const { state, failedReason } = await wait("running");
    expect([state, failedReason]).toEqual(["failed", "interrupted: cancelled: not\\nneeded"]);
    expect(scene.exits()).toHaveLength(1);
  });

  test("the next run of a schedule is refused, naming what ends it", async () => {
    const declaration = await queue.publish(scene.declaration);
    await queue.schedule("nightly", { cron: "0 3 * * *" }, scene.job({ declaration }));
    const [jobId = ""] = await delayedIds();
    await expect(queue.cancel(jobId)).rejects.toMatchObject({
      issues: [{ code: "option_invalid", path: "jobId", hint: 'call unschedule("nightly")' }],
    });
    expect((await queue.report(jobId)).state).toBe("delayed");
    expect(await queue.unschedule("nightly")).toBe(true);
  });
});

test("what is an option of one provider alone is left out for a job of the other", async () => {
  const run = {
    startGate: "off",
    containment: "sweep",
    sandbox: "read-only",
    permissionMode: "plan",
  } as const;
  await start({ run });
  const declaration = await queue.publish(scene.declaration);
  const { state, failedReason } = await wait(await queue.add(scene.job({ declaration })));
  expect([state, failedReason]).toEqual(["completed", undefined]);
  const [workspace = ""] = scene.workspaces;
  expect(readFileSync(join(workspace, "agent.args"), "utf8")).toContain("--permission-mode=plan");
});

describe("accounts", () => {
  test.each([
    [{ starts: 1 }, "limit.perMs"],
    [{}, "limit.starts"],
    [{ starts: 1, perMs: 1.5 }, "limit.perMs"],
    [{ starts: 1, perMs: 1, per: 1 }, "limit.per"],
    [null, "limit"],
  ])("a limit of %j is refused", async (limit, path) => {
    await expect(queue.limitAccount("team", limit as never)).rejects.toMatchObject({
      issues: [{ code: "option_invalid", path, message: expect.stringContaining("got ") }],
    });
  });

  test.each(["tomorrow", new Date(Number.NaN), 5])("a pause until %s is refused", async (until) => {
    await expect(queue.pauseAccount("team", until as never)).rejects.toMatchObject({
      issues: [{ code: "option_invalid", path: "until", message: expect.stringContaining("got ") }],
    });
  });

  test("starts no more jobs of an account than its limit says, and others meanwhile", async () => {
    const declaration = await queue.publish(scene.declaration);
    const account = `team-${name}`;
    await queue.limitAccount(account, { starts: 2, perMs: 60_000 });
    const limited: string[] = [];
    for (let index = 0; index < 3; index += 1)
      limited.push(await queue.add(scene.job({ declaration, account, cwd: scene.workspaces[index] ?? "" })));
    const other = await queue.add(scene.job({ declaration, prompt: "other" }));
    await start();
    await wait(other);
    await waitUntil(async () => {
      const reports = await Promise.all(limited.map((id) => queue.report(id)));
      const states = reports.map(({ state }) => state).sort();
      return states.join() === "completed,completed,delayed";
    }, "two of three");
    const reports = await Promise.all(limited.map((id) => queue.report(id)));
    const waiting = reports.find(({ state }) => state === "delayed");
    expect(waiting?.progress).toMatchObject({
      phase: "waiting_for_account",
      reason: expect.stringContaining(account),
    });
  });

  test("an account that is paused starts when the pause is over", async () => {
    const declaration = await queue.publish(scene.declaration);
    const account = `paused-${name}`;
    const until = Date.now() + 1_500;
    await queue.pauseAccount(account, new Date(until));
    const jobId = await queue.add(scene.job({ declaration, account }));
    await start();
    expect((await wait(jobId)).state).toBe("completed");
    expect(Date.now()).toBeGreaterThanOrEqual(until);
  });
});

describe("flows", () => {
  test("a parent waits for its children, and their outcomes are in its prompt", async () => {
    const declaration = await queue.publish(scene.declaration);
    const [one = "", two = "", three = ""] = scene.workspaces;
    await start();
    const root = await queue.addFlow({
      name: "sum",
      job: scene.job({
        declaration,
        cwd: three,
        prompt: "A said {{children.a.finalText}}, B said {{children.b.finalText}}{{other}}",
      }),
      children: [
        { name: "a", job: scene.job({ declaration, cwd: one, prompt: "yes" }) },
        { name: "b", job: scene.job({ declaration, cwd: two, prompt: "no" }) },
      ],
    });
    const { state, outcome } = await wait(root);
    expect([state, outcome?.finalText]).toEqual(["completed", "A said yes, B said no{{other}}"]);
    expect(scene.exits()).toHaveLength(3);
  });

  test("a child that fails fails its parent, or is told to it", async () => {
    const declaration = await queue.publish(scene.declaration);
    const gone = { name: "gone", job: scene.job({ declaration, cwd: "/nowhere/at/all" }) };
    await start();
    const parent = scene.job({ declaration, prompt: "{{children}}" });
    const strict = await queue.addFlow({ name: "strict", job: parent, children: [gone] });
    const lenient = await queue.addFlow({
      name: "lenient",
      job: parent,
      children: [{ ...gone, onFailure: "continue" }],
    });
    expect((await wait(strict)).state).toBe("failed");
    const { outcome } = await wait(lenient);
    expect(JSON.parse(outcome?.finalText ?? "")).toMatchObject([
      { name: "gone", failedReason: expect.stringContaining("job_invalid") },
    ]);
  });
});

describe("refuses before anything is put in", () => {
  test.each([
    [{ prompt: " " }, "job.prompt", '" "'],
    [{ provider: "gemini" }, "job.provider", '"gemini"'],
    [{ cwd: "work" }, "job.cwd", '"work"'],
    [{ declaration: "abc" }, "job.declaration", '"abc"'],
    [{ retries: 1.5 }, "job.retries", "1.5"],
    [{ budget: { costUsd: -1 } }, "job.budget.costUsd", "-1"],
    [{ provider: "codex", budget: { costUsd: 2 } }, "job.budget.costUsd", "got 2"],
    [{ sandbox: "danger-full-access" }, "job.sandbox", "is not a field"],
  ])("%j, naming %s and the value", async (changes, path, seen) => {
    const declaration = declarationDigest(scene.declaration);
    const job = { ...scene.job({ declaration }), ...changes } as never;
    await expect(queue.add(job)).rejects.toMatchObject({
      issues: [{ code: "job_invalid", path, message: expect.stringContaining(seen) }],
    });
    const keys = await redis.command("KEYS", `bull:${name}:[0-9]*`);
    expect(keys).toBe("*0\r\n");
  });

  test("a declaration with a function, which cannot be shipped", async () => {
    const hook = { type: "function" as const, handler: () => undefined };
    await expect(queue.publish({ PreToolUse: [{ hooks: [hook] }] })).rejects.toMatchObject({
      issues: [{ code: "handler_type_unsupported", path: "declaration: PreToolUse[0].hooks[0]" }],
    });
  });
});

test("a job that ends while it is looked at is not told as ended without its reason", async () => {
  const { Queue } = await import("bullmq");
  const jobId = await queue.add(scene.job({ declaration: declarationDigest(scene.declaration) }));
  const getJob = Queue.prototype.getJob;
  // As it was before it ended.
  const looking = vi.spyOn(Queue.prototype, "getJob").mockImplementationOnce(async function (
    this: typeof Queue.prototype,
    id,
  ) {
    const job = await getJob.call(this, id);
    await start();
    await waitUntil(async () => (await this.getJobState(id)) === "failed", "the end of the job");
    return job;
  });
  const { state, failedReason } = await wait(jobId);
  expect(looking).toHaveBeenCalled();
  looking.mockRestore();
  expect([state, failedReason]).toEqual(["failed", expect.stringContaining("declaration_refused")]);
});

describe("a worker refuses, and starts nothing,", () => {
  const failed = async (jobId: string) => {
    const { state, failedReason = "" } = await wait(jobId);
    expect(state).toBe("failed");
    expect(scene.exits()).toEqual([]);
    expect(admittedRuns(scene.place)).toEqual([]);
    return failedReason;
  };

  test("a declaration that it was not told to allow", async () => {
    await start({ allow: { digests: ["0".repeat(64)] } });
    const declaration = await queue.publish(scene.declaration);
    expect(await failed(await queue.add(scene.job({ declaration })))).toMatch(
      /^declaration_refused .* not told to allow/,
    );
  });

  test("one whose bytes were changed in Redis", async () => {
    const declaration = await queue.publish(scene.declaration);
    await start({ allow: { digests: [declaration] } });
    const weaker = '{"agent_exit":[]}';
    await redis.command("HSET", `bridle:{queue:${name}}:declaration:${declaration}`, "text", weaker);
    expect(await failed(await queue.add(scene.job({ declaration })))).toMatch(
      /^declaration_refused .* something else/,
    );
  });

  test("one that was published without its key, or with another", async () => {
    const key = "k".repeat(32);
    await start({ allow: { key } });
    const declaration = await queue.publish(scene.declaration);
    expect(await failed(await queue.add(scene.job({ declaration })))).toMatch(
      /^declaration_refused .* not signed/,
    );
    await using other = await createAgentQueue({ connection: redis.url, name, key: "x".repeat(32) });
    await other.publish(scene.declaration);
    expect(await failed(await queue.add(scene.job({ declaration })))).toMatch(
      /^declaration_refused .* not signed/,
    );
    await using right = await createAgentQueue({ connection: redis.url, name, key });
    await right.publish(scene.declaration);
    expect((await wait(await queue.add(scene.job({ declaration })))).state).toBe("completed");
  });

  test("one that is not there", async () => {
    await start();
    const declaration = declarationDigest(scene.declaration);
    expect(await failed(await queue.add(scene.job({ declaration })))).toMatch(
      /^declaration_refused .* not in the queue/,
    );
  });

  test("a directory that is not below its roots, also through a link", async () => {
    const [one = "", two = ""] = scene.workspaces;
    await start({ roots: [one] });
    const declaration = await queue.publish(scene.declaration);
    expect(await failed(await queue.add(scene.job({ declaration, cwd: two })))).toMatch(
      /^job_invalid job.cwd: .* root/,
    );
    const { symlink } = await import("node:fs/promises");
    await symlink(two, `${one}/link`);
    expect(await failed(await queue.add(scene.job({ declaration, cwd: `${one}/link` })))).toMatch(
      /^job_invalid/,
    );
    expect((await wait(await queue.add(scene.job({ declaration, cwd: one })))).state).toBe("completed");
  });

  test("a file as its directory", async () => {
    await start();
    const declaration = await queue.publish(scene.declaration);
    const file = join(scene.place.home, "file");
    writeFileSync(file, "");
    const { failedReason } = await wait(await queue.add(scene.job({ declaration, cwd: file })));
    expect(failedReason).toContain("file is no directory");
  });

  test("data that somebody put into the queue by hand, naming the field", async () => {
    await start();
    const { Queue } = await import("bullmq");
    const raw = new Queue(name, { connection: { path: redis.url.replace("unix://", "") } });
    try {
      const job = await raw.add("agent", { prompt: "hello", provider: "claude", cwd: "relative", extra: 1 });
      const reason = await failed(job.id ?? "");
      expect(reason).toContain("job.cwd");
      expect(reason).toContain("job.extra");
      expect(reason).toContain("job.declaration");
    } finally {
      await raw.close();
    }
  });

  test("a command of the declaration that is not on its machine", async () => {
    await start();
    const hooks = [{ type: "command" as const, command: ["/nowhere/guard"] }];
    const declaration = await queue.publish({ PreToolUse: [{ hooks }] });
    expect(await failed(await queue.add(scene.job({ declaration })))).toContain("command_not_found");
  });
});

test("a worker without a word on what it may run is no worker", async () => {
  await expect(start({ allow: undefined as never })).rejects.toThrow("option_invalid allow");
});

test("a failure that would come again is not tried again", async () => {
  await start({}, "failing");
  const declaration = await queue.publish(scene.declaration);
  const { state, outcome } = await wait(await queue.add(scene.job({ declaration, retries: 5 })));
  expect([state, outcome?.outcome, outcome?.attempt]).toEqual(["failed", "failed", 1]);
  expect(scene.exits()).toHaveLength(1);
});

test("two jobs of one directory run one after the other, on two workers", async () => {
  await Promise.all([start({}, "working"), start({}, "working")]);
  const declaration = await queue.publish(scene.declaration);
  const ids = await Promise.all([1, 2, 3].map(() => queue.add(scene.job({ declaration }))));
  const reports = await Promise.all(ids.map(wait));
  expect(reports.map(({ state }) => state)).toEqual(["completed", "completed", "completed"]);
  const log = scene.agentLog(scene.workspaces[0] ?? "");
  expect(log.map((line) => line.split(" ")[0])).toEqual(["start", "work", "start", "work", "start", "work"]);
});

test("a worker that is closed stops its agent and hands the job back; another ends it", async () => {
  const first = await start({}, "hanging");
  const declaration = await queue.publish(scene.declaration);
  const jobId = await queue.add(scene.job({ declaration, retries: 0 }));
  await waitUntil(async () => (await queue.report(jobId)).progress?.phase === "running", "a running agent");
  await first.close();
  expect(scene.exits()).toMatchObject([{ outcome: "interrupted" }]);
  expect((await queue.report(jobId)).state).not.toBe("failed");
  await start({}, "quick");
  expect((await wait(jobId)).outcome).toMatchObject({ outcome: "success", attempt: 2 });
});

test("a budget of time ends the run, one of cost or turns is claude's to keep", async () => {
  await start({}, "hanging");
  const declaration = await queue.publish(scene.declaration);
  const budget = { wallMs: 500, costUsd: 1.5, turns: 7 };
  const { outcome } = await wait(await queue.add(scene.job({ declaration, budget })));
  expect(outcome).toMatchObject({ outcome: "timed_out", reason: "wall" });
  const words = readFileSync(join(scene.workspaces[0] ?? "", "agent.args"), "utf8");
  expect(words).toContain("--max-budget-usd=1.500000");
  expect(words).toContain("--max-turns=7");
});

test("a cancel is forgotten with its job: another one of the same id is not hit", async () => {
  await start({}, "quick");
  const declaration = await queue.publish(scene.declaration);
  const { Queue } = await import("bullmq");
  const raw = new Queue(name, { connection: { path: redis.url.replace("unix://", "") } });
  try {
    for (const prompt of ["first", "second"]) {
      await queue.add(scene.job({ declaration, prompt }), { jobId: "same" });
      expect((await wait("same")).outcome?.finalText).toBe(prompt);
      expect(await queue.cancel("same")).toBe("ended");
      expect(await redis.command("KEYS", "*:cancel:*")).toBe("*0\r\n");
      await (await raw.getJob("same"))?.remove();
    }
  } finally {
    await raw.close();
  }
});

test("Redis crashes and comes back while an agent works: the job ends once", async () => {
  const worker = await start({}, "working");
  const declaration = await queue.publish(scene.declaration);
  const jobId = await queue.add(scene.job({ declaration }));
  await waitUntil(async () => (await queue.report(jobId)).progress?.phase === "running", "a running agent");
  await redis.crash();
  await delay(500);
  await redis.restart();
  const { state, outcome } = await wait(jobId);
  expect([state, outcome?.outcome, outcome?.attempt]).toEqual(["completed", "success", 1]);
  expect(scene.exits()).toHaveLength(1);
  await worker.close();
});

test("Redis stays away for longer than the lease: the agent is ended before it runs out, and the job runs again", async () => {
  const worker = await start(SHORT_LEASE, "hanging");
  const declaration = await queue.publish(scene.declaration);
  const jobId = await queue.add(scene.job({ declaration }));
  await waitUntil(async () => (await queue.report(jobId)).progress?.phase === "running", "a running agent");
  await redis.crash();
  await waitUntil(() => scene.exits().length === 1, "the end of the run");
  await redis.restart();
  // It is tried again by the same worker.
  await waitUntil(() => admittedRuns(scene.place).length === 2, "another run");
  expect(await queue.cancel(jobId)).toBe("asked");
  expect((await wait(jobId)).state).toBe("failed");
  expect(scene.exits()).toHaveLength(2);
  await worker.close();
});
