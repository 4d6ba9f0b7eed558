// `bridle worker` as it is called, and told to end.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { createAgentQueue } from "../../src/bullmq/index.ts";
import { waitUntil } from "../watchdog/support.ts";
import { type Redis, startRedis } from "./redis.ts";
import { makeScene, type Scene } from "./support.ts";

let redis: Redis;
let scene: Scene;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  scene = await makeScene({
    workspaces: 2,
    scripts: {
      agent: {
        steps: [{ text: "up" }, { tools: [{ shell: "[ -e quick ] || sleep 60" }] }, { text: "{{prompt}}" }],
      },
    },
  });
});
afterEach(() => scene.remove());

test("runs what it was told to allow, and at SIGTERM stops its agents, hands their jobs back, and ends", async () => {
  const [one = "", two = ""] = scene.workspaces;
  await writeFile(join(one, "quick"), "");
  const hooks = join(scene.place.home, "hooks.json");
  await writeFile(hooks, JSON.stringify({ hooks_external: scene.declaration }));
  const words = [
    "worker",
    "--queue",
    "command",
    "--allow-hooks",
    hooks,
    "--root",
    join(scene.place.home, "workspaces"),
  ];
  const options = ["--claude", scene.binaries.agent ?? "", "--prove", "off", "--concurrency", "2"];
  const child = spawn(process.execPath, [join(inject("dist"), "cli", "main.js"), ...words, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...scene.place.env, BRIDLE_REDIS_URL: redis.url },
  });
  const exited = once(child, "exit");
  let out = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  try {
    await using queue = await createAgentQueue({ connection: redis.url, name: "command" });
    const declaration = await queue.publish(scene.declaration);
    await waitUntil(() => out.includes("ready") || child.exitCode !== null, "a worker that is ready");
    expect(errors).toBe("");
    expect(out).toContain(`allow     ${declaration} ${hooks}\n`);
    const quick = await queue.add(scene.job({ declaration, cwd: one, prompt: "said" }));
    expect((await queue.wait(quick, { timeoutMs: 20_000 })).outcome?.finalText).toBe("said");

    const long = await queue.add(scene.job({ declaration, cwd: two }));
    await waitUntil(async () => (await queue.report(long)).progress?.phase === "running", "a running agent");
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    expect(out).toMatch(/ready {5}command\nstopping {2}SIGTERM\nstopped\n$/);
    expect(errors).toBe("");
    expect(["waiting", "prioritized"]).toContain((await queue.report(long)).state);
    expect(scene.exits().map(({ outcome }) => outcome)).toEqual(["success", "interrupted"]);
  } finally {
    child.kill("SIGKILL");
  }
});
