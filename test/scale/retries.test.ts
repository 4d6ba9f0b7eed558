// What is tried again, when, and what waits with it.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type AgentQueue, createAgentQueue } from "../../src/bullmq/index.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";
import { waitUntil } from "../watchdog/support.ts";
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
  name = `retries-${last++}`;
  queue = await createAgentQueue({ connection: redis.url, name });
  scene = await makeScene({
    workspaces: 2,
    scripts: {
      good: { steps: [{ text: "{{prompt}}" }] },
      bad: { sins: ["fail-turn"], steps: [{ text: "no" }] },
    },
  });
});
afterEach(async () => {
  await endWorkers();
  await queue.close();
  await scene?.remove();
});

/** An agent whose first `count` runs fail with these words of its provider. */
async function failing(count: number, words: string): Promise<string> {
  const path = join(scene.place.home, "failing");
  const { good = "", bad = "" } = scene.binaries;
  await writeFile(
    path,
    [
      "#!/bin/sh",
      FAKE_PROVIDER_MARK,
      `case "$*" in *--version*) exec '${good}' "$@" ;; esac`,
      'echo >>"$HOME/runs"',
      `[ "$(wc -l <"$HOME/runs")" -gt ${count} ] && exec '${good}' "$@"`,
      `'${bad}' "$@" | sed -u 's/529 scripted fault/${words}/'`,
      "",
    ].join("\n"),
  );
  await chmod(path, 0o755);
  return path;
}

const start = async (claude: string) =>
  startWorker(scene, { connection: redis.url, name, binaries: { claude }, concurrency: 1 });

test("an overloaded provider is asked again, as often as the job says, with one agent_exit a try", async () => {
  await start(await failing(2, "529 overloaded"));
  const declaration = await queue.publish(scene.declaration);
  const { state, outcome } = await queue.wait(await queue.add(scene.job({ declaration, retries: 2 })), {
    timeoutMs: 30_000,
  });
  expect([state, outcome?.outcome, outcome?.attempt]).toEqual(["completed", "success", 3]);
  expect(scene.exits().map((exit) => exit.outcome)).toEqual(["failed", "failed", "success"]);
});

test("no more often than that", async () => {
  await start(await failing(5, "529 overloaded"));
  const declaration = await queue.publish(scene.declaration);
  const { state, failedReason, outcome } = await queue.wait(
    await queue.add(scene.job({ declaration, retries: 1 })),
    { timeoutMs: 30_000 },
  );
  expect([state, outcome?.attempt]).toEqual(["failed", 2]);
  expect(failedReason).toContain("api_error");
  expect(scene.exits()).toHaveLength(2);
});

test("a limit with a reset time holds every job of its account back until then, and no other", async () => {
  await start(await failing(1, "429 rate limit reached, try again in 2 hours"));
  const declaration = await queue.publish(scene.declaration);
  const account = `limited-${name}`;
  const first = await queue.add(scene.job({ declaration, account, retries: 1 }));
  await waitUntil(async () => (await queue.report(first)).progress?.phase === "ended", "the first try");
  const second = await queue.add(scene.job({ declaration, account, cwd: scene.workspaces[1] ?? "" }));
  const other = await queue.add(scene.job({ declaration, account: `${account}-other` }));
  expect((await queue.wait(other, { timeoutMs: 30_000 })).state).toBe("completed");
  expect((await queue.report(first)).state).toBe("delayed");
  const { state, progress } = await queue.report(second);
  expect([state, progress?.phase]).toEqual(["delayed", "waiting_for_account"]);
  const waitMs = Number(/may start in (\d+) ms/.exec(progress?.reason ?? "")?.[1]);
  expect(waitMs).toBeGreaterThan(3_600_000);
  expect(waitMs).toBeLessThanOrEqual(7_200_000);
});
