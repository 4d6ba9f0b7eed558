// Workers that are killed, stopped as a whole, and whose event loops stand still, at random moments. What must hold is looked at after it all:
// by a lock of the kernel that each agent holds as long as it lives, and by the journals.

import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createAgentQueue } from "../../src/bullmq/index.ts";
import { type Redis, startRedis } from "./redis.ts";
import {
  admittedRuns,
  endWorkers,
  makeScene,
  type Scene,
  SHORT_LEASE,
  startWorker,
  type WorkerProgram,
} from "./support.ts";

let redis: Redis;
let scene: Scene | undefined;
beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  await endWorkers();
  await scene?.remove();
});
afterAll(() => redis.stop());

/** The same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const JOBS = 30;
const WORKSPACES = 6;
const MS = 30_000;

test("workers are killed, stopped and stalled: each job ends once, no two agents are in one workspace, one agent_exit a run", async () => {
  const seed = Number(process.env.SCALE_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`SCALE_SEED=${seed}`);
  const random = createRandom(seed);
  const agent = {
    steps: [
      { text: "up" },
      { tools: [{ shell: "sleep $(($$ % 3)).$(($$ % 7 + 2)); echo work >>agent.log" }] },
      { text: "{{prompt}}" },
    ],
  };
  scene = await makeScene({ workspaces: WORKSPACES, scripts: { agent } });
  const { workspaces } = scene;
  const name = "chaos";
  await using queue = await createAgentQueue({ connection: redis.url, name });
  const declaration = await queue.publish(scene.declaration);
  const options = { connection: redis.url, name, maxTakeOvers: 1_000, ...SHORT_LEASE };
  const start = () => startWorker(scene as Scene, options, { agent: "agent" });
  const workers: WorkerProgram[] = await Promise.all([start(), start()]);
  const all = [...workers];
  const jobIds: string[] = [];
  for (let index = 0; index < JOBS; index += 1)
    jobIds.push(
      await queue.add(
        scene.job({
          declaration,
          prompt: `job ${index}`,
          cwd: workspaces[index % WORKSPACES] ?? "",
          retries: 50,
        }),
      ),
    );

  const counts = { killed: 0, stopped: 0, stalled: 0 };
  const until = performance.now() + MS;
  const isOver = async () => {
    const reports = await Promise.all(jobIds.map((id) => queue.report(id)));
    return reports.every(({ state }) => state === "completed" || state === "failed");
  };
  while (performance.now() < until && !(await isOver())) {
    await delay(300 + random() * 900);
    const place = Math.floor(random() * workers.length);
    const worker = workers[place] as WorkerProgram;
    const choice = random();
    if (choice < 0.34) {
      counts.killed += 1;
      worker.kill("SIGKILL");
      await worker.ended();
      const next = await start();
      workers[place] = next;
      all.push(next);
    } else if (choice < 0.75) {
      // Shorter than what is put up with, longer than that, longer than the lease.
      counts.stalled += 1;
      worker.tell(`stall ${Math.round(300 + random() * 3_500)}`);
    } else {
      counts.stopped += 1;
      worker.kill("SIGSTOP");
      // Longer than the lease, and than BullMQ needs to see that it is over.
      await delay(2_500 + random() * 3_500);
      worker.kill("SIGCONT");
    }
  }
  const reports = await Promise.all(jobIds.map((id) => queue.wait(id, { timeoutMs: 180_000 })));
  await Promise.all(workers.map((worker) => worker.close()));
  const attempts = admittedRuns(scene.place);
  const recovered = scene.exits().filter((exit) => exit.recovered).length;
  const leasesLost = all
    .flatMap((worker) => worker.problems())
    .filter((text) => text.includes("lease_lost")).length;
  console.log({ ...counts, attempts: attempts.length, recovered, leasesLost });

  expect(all.flatMap((worker) => [worker.errors()].filter((text) => text !== ""))).toEqual([]);
  expect(
    reports.map(({ state, failedReason, outcome }) => [state, failedReason, outcome?.finalText]),
  ).toEqual(reports.map((_report, index) => ["completed", undefined, `job ${index}`]));
  const log = workspaces.flatMap((workspace) => (scene as Scene).agentLog(workspace));
  expect(log.filter((line) => line.startsWith("OVERLAP"))).toEqual([]);
  // Every run that was admitted told its end, once: those of killed workers by recovery.
  expect(
    scene
      .exits()
      .map(({ runId }) => runId)
      .sort(),
  ).toEqual(attempts);
  expect(counts.killed + counts.stalled + counts.stopped).toBeGreaterThan(5);
});
