// Jobs from the queue to their outcome, one worker at a time.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type AgentQueue, createAgentQueue } from "../../src/bullmq/index.ts";
import { type Redis, startRedis } from "./redis.ts";
import { endWorkers, makeScene, type Scene, startWorker } from "./support.ts";

let redis: Redis;
let scene: Scene;
let queue: AgentQueue;
let name: string;
let last = 0;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

beforeEach(async () => {
  name = `jobs-${last++}`;
  queue = await createAgentQueue({ connection: redis.url, name });
  scene = await makeScene();
});
afterEach(async () => {
  await endWorkers();
  await queue.close();
  await scene.remove();
});

test("a job runs under its declaration, and its outcome says what the agent said", async () => {
  const worker = await startWorker(scene, { connection: redis.url, name });
  const declaration = await queue.publish(scene.declaration);
  const jobId = await queue.add(scene.job({ declaration, prompt: "say this" }));
  const { state, outcome, failedReason } = await queue.wait(jobId, { timeoutMs: 20_000 });
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
