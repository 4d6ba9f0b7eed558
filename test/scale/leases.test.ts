// A lease is not a lock: what happens when a worker stands still, when somebody was in a workspace before, and when a fence is another's.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AgentQueue, createAgentQueue } from "../../src/bullmq/index.ts";
import { workspaceKeys } from "../../src/bullmq/redis-keys.ts";
import type { WorkspaceHolder } from "../../src/bullmq/take-over.ts";
import { startTimeOf } from "../../src/exec/sweep.ts";
import { fencePath, readFence } from "../../src/hooks/fence-file.ts";
import { ownIdentity } from "../../src/journal/process-identity.ts";
import { stateDirectory } from "../../src/receipts/writer.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import { isAlive } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { type Redis, startRedis } from "./redis.ts";
import { admittedRuns, endWorkers, makeScene, type Scene, SHORT_LEASE, startWorker } from "./support.ts";

let redis: Redis;
let scene: Scene;
let queue: AgentQueue;
let name: string;
let workspace: string;
let last = 0;

const SCRIPTS: Record<string, FakeScript> = {
  quick: { steps: [{ text: "{{prompt}}" }] },
  hanging: { steps: [{ text: "up" }, { sins: ["hang"] }] },
  // Works for long the first time alone: whoever takes the job next ends it.
  once: {
    steps: [
      { text: "up" },
      { tools: [{ shell: "[ -e once ] || { touch once; sleep 60; }" }] },
      { text: "done" },
    ],
  },
  stepping: {
    steps: [
      { text: "up" },
      // Waits until the test has done its part.
      { tools: [{ shell: "touch waiting; until [ -e go ]; do sleep 0.05; done" }] },
      { tools: [{ shell: "touch ../touched-after" }] },
      { text: "done" },
    ],
  },
};

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

beforeEach(async () => {
  name = `leases-${last++}`;
  queue = await createAgentQueue({ connection: redis.url, name });
  scene = await makeScene({ scripts: SCRIPTS });
  workspace = scene.workspaces[0] ?? "";
});
afterEach(async () => {
  await endWorkers();
  await queue.close();
  await scene?.remove();
});

const start = (options: Partial<Parameters<typeof startWorker>[1]> = {}, agent = "quick") =>
  startWorker(scene, { connection: redis.url, name, ...SHORT_LEASE, ...options }, { agent });
const wait = (jobId: string) => queue.wait(jobId, { timeoutMs: 60_000, pollMs: 50 });
const addJob = async (changes = {}) =>
  queue.add(scene.job({ declaration: await queue.publish(scene.declaration), ...changes }));
const untilRunning = (jobId: string) =>
  waitUntil(async () => (await queue.report(jobId)).progress?.phase === "running", "a running agent");
const agentPid = () => Number(scene.agentLog(workspace).at(-1)?.split(" ")[1]);

/** As if somebody had been in the workspace and had not left it. */
async function plantHolder(changes: Partial<WorkspaceHolder>): Promise<void> {
  const record: WorkspaceHolder = {
    attempt: "earlier.1",
    jobId: "earlier",
    workspace,
    stateDir: stateDirectory(scene.place.env),
    worker: ownIdentity(),
    fence: 1,
    at: new Date().toISOString(),
    ...changes,
  };
  const { holder } = workspaceKeys("shared", workspace);
  await redis.command("HSET", holder, "attempt", record.attempt, "record", JSON.stringify(record));
}

describe("a worker whose event loop stands still", () => {
  test("for longer than the lease, but not for too long, keeps its job", async () => {
    const worker = await start({ leaseMs: 5_000, stallMs: 60_000 }, "stepping");
    const other = await start({ leaseMs: 5_000, stallMs: 60_000 }, "stepping");
    const jobId = await addJob();
    await waitUntil(() => scene.agentLog(workspace).length > 0, "the start of the agent");
    await untilRunning(jobId);
    const { worker: who } = (await queue.report(jobId)).progress ?? {};
    const isFirst = who?.endsWith(` ${worker.child.pid}`);
    // More than twice the lease.
    (isFirst ? worker : other).tell("stall 11000");
    await writeFile(join(workspace, "go"), "");
    const { state, outcome } = await wait(jobId);
    expect([state, outcome?.attempt]).toEqual(["completed", 1]);
    expect(scene.exits()).toHaveLength(1);
    expect([...worker.problems(), ...other.problems()]).toEqual([]);
  });

  test("for too long loses its agent at once and its job, and both end once", async () => {
    const worker = await start({ stallMs: 500 }, "once");
    const jobId = await addJob();
    await untilRunning(jobId);
    const pid = agentPid();
    worker.tell("stall 8000");
    await waitUntil(() => !isAlive(pid), "the end of the agent");
    // Nobody could have told of it: the one who will stands still.
    expect(scene.exits()).toEqual([]);
    await start({}, "once");
    const { outcome } = await wait(jobId);
    expect(outcome?.outcome).toBe("success");
    await waitUntil(() => scene.exits().length === 2, "both ends");
    expect(
      scene
        .exits()
        .map(({ runId }) => runId)
        .sort(),
    ).toEqual(admittedRuns(scene.place));
  });
});

describe("a worker that was killed", () => {
  test("leaves a job that fails when it says that it is not tried again, with one agent_exit", async () => {
    const first = await start({}, "hanging");
    const jobId = await addJob({ onLost: "fail" });
    await untilRunning(jobId);
    first.kill("SIGKILL");
    await first.ended();
    await start({}, "quick");
    const { state, failedReason } = await wait(jobId);
    expect([state, failedReason]).toEqual(["failed", expect.stringContaining("job.onLost: lost")]);
    expect(scene.exits()).toMatchObject([{ outcome: "lost", recovered: true }]);
  });
});

describe("somebody was in the workspace before, and", () => {
  test("lives: the job waits, says for whom, and starts when it is dead", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const pid = child.pid ?? 0;
    await plantHolder({ worker: { ...ownIdentity(), pid, startTime: startTimeOf(pid) ?? null } });
    await start();
    const jobId = await addJob();
    await waitUntil(
      async () => (await queue.report(jobId)).progress?.phase === "waiting_for_workspace",
      "a job that waits",
    );
    expect((await queue.report(jobId)).progress?.reason).toContain(`pid ${pid}, lives`);
    expect(admittedRuns(scene.place)).toEqual([]);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect((await wait(jobId)).outcome?.outcome).toBe("success");
  });

  test("used another state directory: its runs cannot be known, and the job waits", async () => {
    await plantHolder({ worker: { ...ownIdentity(), startTime: "1" }, stateDir: "/elsewhere/bridle" });
    await start();
    const jobId = await addJob();
    await waitUntil(
      async () => (await queue.report(jobId)).progress?.phase === "waiting_for_workspace",
      "a job that waits",
    );
    expect((await queue.report(jobId)).progress?.reason).toContain("/elsewhere/bridle");
    expect(admittedRuns(scene.place)).toEqual([]);
  });

  test("ran on another host: the job starts behind a higher fence", async () => {
    await writeFile(fencePath(workspace), '{"token":41,"attempt":"earlier.1"}\n');
    await plantHolder({ worker: { ...ownIdentity(), bootId: "other", machine: "other host" }, fence: 41 });
    await start();
    const { outcome } = await wait(await addJob());
    expect(outcome?.outcome).toBe("success");
    // Redis had given out none yet: the one in the workspace counts.
    expect(readFence(fencePath(workspace))).toMatchObject({ token: 42 });
  });

  test("left something in place of the fence that cannot be read: nothing starts", async () => {
    await mkdir(fencePath(workspace));
    await start();
    const { state, failedReason } = await wait(await addJob());
    expect([state, failedReason]).toEqual(["failed", expect.stringContaining("is no file of ours")]);
    expect(admittedRuns(scene.place)).toEqual([]);
  });
});

test("an agent whose fence is another's by now gets no call through", async () => {
  await start({}, "stepping");
  const jobId = await addJob();
  await waitUntil(() => readFence(fencePath(workspace)) !== "absent" && scene.agentLog(workspace).length > 0);
  await waitUntil(async () => {
    const { access } = await import("node:fs/promises");
    return access(join(workspace, "waiting")).then(
      () => true,
      () => false,
    );
  }, "the first call");
  await writeFile(fencePath(workspace), '{"token":1000,"attempt":"another"}\n');
  await writeFile(join(workspace, "go"), "");
  const { outcome } = await wait(jobId);
  expect(outcome?.denied).toBe(1);
  await expect(
    import("node:fs/promises").then(({ access }) => access(join(workspace, "..", "touched-after"))),
  ).rejects.toThrow("ENOENT");
});
