// `bridle worker` as it is called, and told to end.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
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

const children = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  children.clear();
});

function bridle(words: readonly string[], { cwd }: { cwd?: string } = {}) {
  const child = spawn(process.execPath, [join(inject("dist"), "cli", "main.js"), ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...scene.place.env, BRIDLE_REDIS_URL: redis.url },
    ...(cwd === undefined ? {} : { cwd }),
  });
  children.add(child);
  const exited = once(child, "exit");
  let out = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  const isReady = () => waitUntil(() => out.includes("ready") || child.exitCode !== null, "a ready worker");
  return { child, exited, out: () => out, errors: () => errors, isReady };
}

/** A worker with the scene's agent, of a queue of its own. */
const startWith = (queue: string, ...options: string[]) =>
  bridle([
    ...["worker", "--queue", queue, "--allow-any", "--prove", "off"],
    ...["--claude", scene.binaries.agent ?? "", ...options],
  ]);

const WAITING = ["waiting", "prioritized"];

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
  const { child, exited, out, errors, isReady } = bridle([...words, ...options]);
  await using queue = await createAgentQueue({ connection: redis.url, name: "command" });
  const declaration = await queue.publish(scene.declaration);
  await isReady();
  expect(errors()).toBe("");
  expect(out()).toContain(`allow     ${declaration} ${hooks}\n`);
  const quick = await queue.add(scene.job({ declaration, cwd: one, prompt: "said" }));
  expect((await queue.wait(quick, { timeoutMs: 20_000 })).outcome?.finalText).toBe("said");

  const long = await queue.add(scene.job({ declaration, cwd: two }));
  await waitUntil(async () => (await queue.report(long)).progress?.phase === "running", "a running agent");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  expect(out()).toMatch(/ready {5}command\nstopping {2}SIGTERM\nstopped\n$/);
  expect(errors()).toBe("");
  expect(WAITING).toContain((await queue.report(long)).state);
  expect(scene.exits().map(({ outcome }) => outcome)).toEqual(["success", "interrupted"]);
});

test("a second SIGTERM within the grace stops the agents at once, and their jobs are handed back", async () => {
  const { child, exited, out, isReady } = startWith("again", "--lease", "3", "--grace", "60");
  await using queue = await createAgentQueue({ connection: redis.url, name: "again" });
  const declaration = await queue.publish(scene.declaration);
  await isReady();
  const long = await queue.add(scene.job({ declaration }));
  await waitUntil(async () => (await queue.report(long)).progress?.phase === "running", "a running agent");
  child.kill("SIGTERM");
  await waitUntil(() => out().includes("stopping"), "the first signal");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  expect(WAITING).toContain((await queue.report(long)).state);
  expect(scene.exits().map(({ outcome }) => outcome)).toEqual(["interrupted"]);
});

describe("while Redis is away", () => {
  let own: Redis;
  beforeEach(async () => {
    own = await startRedis();
  });
  afterEach(() => own.stop());

  test.each([
    ["SIGTERM", 1, []],
    ["two of them", 2, ["--grace", "600"]],
  ])("%s ends the agent and then the worker; another takes the job over", async (_name, signals, options) => {
    const first = startWith("away", "--redis", own.url, "--lease", "20", ...options);
    let queue = await createAgentQueue({ connection: own.url, name: "away", onError: () => {} });
    const [workspace = ""] = scene.workspaces;
    let long = "";
    try {
      const declaration = await queue.publish(scene.declaration);
      await first.isReady();
      long = await queue.add(scene.job({ declaration, prompt: "said" }));
      await waitUntil(
        async () => (await queue.report(long)).progress?.phase === "running",
        "a running agent",
      );
      await own.crash();
      first.child.kill("SIGTERM");
      await waitUntil(() => first.out().includes("stopping"), "the first signal");
      if (signals === 2) first.child.kill("SIGTERM");
      expect(await first.exited).toEqual([0, null]);
      expect(scene.exits().map(({ outcome }) => outcome)).toEqual(["interrupted"]);
      expect(first.errors()).toContain("are left to their leases");
    } finally {
      await own.restart();
      await queue.close();
    }
    await writeFile(join(workspace, "quick"), "");
    const second = startWith("away", "--redis", own.url, "--lease", "3");
    queue = await createAgentQueue({ connection: own.url, name: "away" });
    try {
      const { state, outcome } = await queue.wait(long, { timeoutMs: 120_000 });
      expect([state, outcome?.finalText, second.child.exitCode]).toEqual(["completed", "said", null]);
    } finally {
      await queue.close();
    }
  });
});

describe("refuses to start", () => {
  const key = "k".repeat(32);
  test.each<[string, string[], string]>([
    ["a key file that is not there", ["--allow-key-file", "/nope"], '"/nope" cannot be read'],
    ["a claude that is not there", ["--allow-any", "--claude", "/nope"], '"/nope" cannot be used'],
    [
      "a codex that cannot be executed",
      ["--allow-any", "--codex", "/etc/passwd"],
      '"/etc/passwd" cannot be used',
    ],
    ["a root that is not there", ["--allow-any", "--root", "/nope"], '"/nope" cannot be used'],
    ["a root that is a file", ["--allow-any", "--root", "/etc/hosts"], '"/etc/hosts" is no directory'],
    ["a mode that is not known", ["--allow-any", "--permission-mode", "nope"], '"nope" is not known'],
    ["a sandbox that is not known", ["--allow-any", "--sandbox", "nope"], '"nope" is not known'],
    ["a URL that cannot be decoded", ["--allow-any", "--redis", `redis://:${key}%zz@h`], "connection"],
  ])("%s", async (_name, options, message) => {
    const { exited, out, errors } = bridle(["worker", "--queue", "refused", ...options]);
    expect(await exited).toEqual([78, null]);
    expect(errors()).toContain(message);
    expect(errors()).not.toContain(key);
    expect(out()).toBe("");
  });
});

test("a relative binary is the one of the worker's own directory, and not of a job's", async () => {
  const [workspace = ""] = scene.workspaces;
  const own = dirname(scene.binaries.agent ?? "");
  const file = basename(scene.binaries.agent ?? "");
  await writeFile(join(workspace, file), '#!/bin/sh\ntouch "$HOME/planted"\n', { mode: 0o755 });
  await writeFile(join(workspace, "quick"), "");
  const words = ["worker", "--queue", "relative", "--allow-any", "--prove", "off", "--claude", `./${file}`];
  const { isReady } = bridle(words, { cwd: own });
  await using queue = await createAgentQueue({ connection: redis.url, name: "relative" });
  const declaration = await queue.publish(scene.declaration);
  await isReady();
  const jobId = await queue.add(scene.job({ declaration, prompt: "said" }));
  expect((await queue.wait(jobId, { timeoutMs: 30_000 })).outcome?.finalText).toBe("said");
  expect(existsSync(join(scene.place.home, "planted"))).toBe(false);
});
