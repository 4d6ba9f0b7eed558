// The thread that renews, without a worker around it: real locks in a real Redis.

import { once } from "node:events";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type * as Keeper from "../../src/bullmq/lease-keeper.ts";
import { waitUntil } from "../watchdog/support.ts";
import { type Redis, startRedis } from "./redis.ts";

const { createLeaseKeeper } = (await import(
  join(inject("dist"), "bullmq", "lease-keeper.js")
)) as typeof Keeper;

let redis: Redis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const start = (name: string, problems: string[]) =>
  createLeaseKeeper({
    connection: { path: redis.url.replace("unix://", "") },
    name,
    prefix: "bull",
    leaseMs: 2_000,
    stallMs: 60_000,
    stateDir: "/nowhere",
    onProblem: (message) => problems.push(message),
  });
const lock = (name: string, id: string, token: string) =>
  redis.command("SET", `bull:${name}:${id}:lock`, token, "PX", "20000");

test("a job whose lock is another's, or gone, is not held", async () => {
  const keeper = start("one", []);
  await lock("one", "1", "mine");
  expect(await keeper.hold("1", "other", "a1")).toBeUndefined();
  expect(await keeper.hold("2", "mine", "a2")).toBeUndefined();
  expect(await keeper.hold("1", "mine", "a3")).toBeDefined();
  await keeper.close();
});

test("a lock is renewed until it is dropped", async () => {
  const keeper = start("two", []);
  await lock("two", "1", "mine");
  const lease = await keeper.hold("1", "mine", "a1");
  // It would be over after 2 s: by then it was renewed several times.
  const until = performance.now() + 3_000;
  await waitUntil(() => performance.now() > until);
  expect(await redis.command("GET", "bull:two:1:lock")).toContain("mine");
  expect(lease?.signal.aborted).toBe(false);
  lease?.drop();
  await waitUntil(
    async () => (await redis.command("EXISTS", "bull:two:1:lock")).startsWith(":0"),
    "the end of the lock",
  );
  await keeper.close();
});

test("a lock that somebody takes away ends the lease, and says so", async () => {
  const keeper = start("three", []);
  await lock("three", "1", "mine");
  const lease = await keeper.hold("1", "mine", "a1");
  await lock("three", "1", "other");
  await waitUntil(() => lease?.signal.aborted === true, "an aborted signal");
  expect(lease?.signal.reason).toMatchObject({ name: "LeaseLost", cause: "taken" });
  // It is the other's, and stays as it is.
  expect(await redis.command("GET", "bull:three:1:lock")).toContain("other");
  await keeper.close();
});

test("what the thread found while the event loop stood still is known once it was asked", async () => {
  const keeper = start("five", []);
  await lock("five", "1", "mine");
  const lease = await keeper.hold("1", "mine", "a1");
  await lock("five", "1", "other");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
  await lease?.settle();
  expect(lease?.signal.reason).toMatchObject({ name: "LeaseLost", cause: "taken" });
  await keeper.close();
});

test("when the thread dies every lease is lost at once, and the next one has another thread", async () => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker) => threads.push(thread);
  process.on("worker", onWorker);
  const keeper = start("four", []);
  await lock("four", "1", "mine");
  const lease = await keeper.hold("1", "mine", "a1");
  const [thread] = threads;
  const exit = once(thread as Worker, "exit");
  await thread?.terminate();
  await exit;
  expect(lease?.signal.reason).toMatchObject({ name: "LeaseLost", cause: "thread" });
  await lock("four", "1", "mine");
  expect(await keeper.hold("1", "mine", "a2")).toBeDefined();
  expect(threads).toHaveLength(2);
  process.off("worker", onWorker);
  await keeper.close();
});
