// What spawnAgent costs beside a bare child_process.spawn of the same CLI: the time until the prompt is handed over, the pauses of the event
// loop while 200 runs start together, and the memory of a run that waits. The preflight is left out: it is the provider's own start-up.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expectSuccess, withFakeCli } from "./fake-cli.mjs";
import { compare } from "./harness.mjs";

const ME = fileURLToPath(import.meta.url);
const BARE = "child_process.spawn";

export async function benchSpawn({ rounds = 40, each = 3 } = {}) {
  return withFakeCli("ends", ({ cli, cwd, env, start }) => {
    const bare = async () => {
      const startedAt = performance.now();
      const child = spawn(cli, [], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
      child.stdout.resume();
      child.stderr.resume();
      await once(child, "spawn");
      child.stdin.end("hello");
      const handedOver = performance.now() - startedAt;
      await once(child, "close");
      return handedOver;
    };
    const bridle = (options) => async () => {
      const startedAt = performance.now();
      const run = await start({ receiptSink: () => {}, ...options });
      const handedOver = performance.now() - startedAt;
      await expectSuccess(run);
      return handedOver;
    };
    return compare({
      title: "Start of a run until the prompt is handed over, without preflight",
      unit: "ms",
      baseline: BARE,
      rounds,
      each,
      variants: [
        { name: BARE, run: bare },
        { name: "spawnAgent", run: bridle({}) },
        { name: "spawnAgent, no namespace", run: bridle({ containment: "sweep" }) },
      ],
      limits: {
        "spawnAgent ≤ 2 × child_process.spawn + 3 ms (p50)": (rows) => ({
          value: rows.spawnAgent.p50,
          limit: 2 * rows[BARE].p50 + 3,
        }),
      },
    });
  });
}

const BURST_LIMIT_MS = 10;

/** Delay of the event loop while many runs start and end together, with the default options. */
export async function benchBurst({ runs = 200, rounds = 3 } = {}) {
  return withFakeCli("ends", ({ cli, cwd, env, start }) => {
    const underLoad = async (work) => {
      const monitor = monitorEventLoopDelay({ resolution: 1 });
      monitor.enable();
      await work();
      monitor.disable();
      return monitor.percentile(99) / 1e6;
    };
    const bare = async () => {
      const child = spawn(cli, [], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
      child.stdout.resume();
      child.stderr.resume();
      child.stdin.end("hello");
      await once(child, "close");
    };
    const many = (one) => () => underLoad(() => Promise.all(Array.from({ length: runs }, one)));
    return compare({
      title: `Delay of the event loop while ${runs} runs start together (p99 of each burst)`,
      unit: "ms",
      baseline: BARE,
      rounds,
      warmup: 1,
      each: 1,
      variants: [
        { name: BARE, run: many(bare) },
        { name: "spawnAgent", run: many(async () => expectSuccess(await start())) },
      ],
      limits: {
        [`spawnAgent ≤ ${BURST_LIMIT_MS} ms`]: (rows) => ({
          value: rows.spawnAgent.p50,
          limit: BURST_LIMIT_MS,
        }),
      },
    });
  });
}

const IDLE_LIMIT_KIB = 96;

/**
 * Memory of the supervisor for each agent that waits. Every measurement is a process of its own. What grows once for all, V8's space for new
 * objects and the pools of the C library, weighs the more on each the fewer they are: so the first half is told too.
 */
export async function benchIdleRuns({ runs = 400, rounds = 3 } = {}) {
  const measured = async (count, kind) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--expose-gc",
      ME,
      "idle",
      String(count),
    ]);
    return JSON.parse(stdout)[kind];
  };
  const half = runs / 2;
  const variants = [
    { name: `resident, ${runs} runs`, run: () => measured(runs, "resident") },
    { name: `heap, ${runs} runs`, run: () => measured(runs, "heap") },
    { name: `resident, ${half} runs`, run: () => measured(half, "resident") },
  ];
  return compare({
    title: "Memory of the supervisor for each of many runs that wait",
    unit: "KiB",
    baseline: variants[0].name,
    rounds,
    warmup: 0,
    each: 1,
    variants,
    limits: Object.fromEntries(
      variants
        .slice(0, 2)
        .map(({ name }) => [
          `${name} ≤ ${IDLE_LIMIT_KIB} KiB`,
          (rows) => ({ value: rows[name].p50, limit: IDLE_LIMIT_KIB }),
        ]),
    ),
  });
}

/** What the garbage of the starts has left is collected first. */
async function memory() {
  await delay(1_000);
  for (let n = 0; n < 4; n += 1) {
    globalThis.gc();
    await delay(50);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { resident: rss, heap: heapUsed };
}

async function measureIdle(runs) {
  return withFakeCli("waits", async ({ start }) => {
    const startMany = async (count) => {
      const started = [];
      while (started.length < count)
        started.push(
          ...(await Promise.all(Array.from({ length: Math.min(20, count - started.length) }, () => start()))),
        );
      return started;
    };
    const stopAll = (started) => Promise.all(started.map((run) => run.stop()));
    // Code, pools and the heap have their size before anything is counted.
    await stopAll(await startMany(40));
    const before = await memory();
    const started = await startMany(runs);
    const after = await memory();
    await stopAll(started);
    return Object.fromEntries(
      Object.keys(after).map((name) => [name, (after[name] - before[name]) / runs / 1024]),
    );
  });
}

if (process.argv[1] === ME && process.argv[2] === "idle") {
  console.log(JSON.stringify(await measureIdle(Number(process.argv[3]))));
  process.exit(); // the watchdog has nothing left to do
}
