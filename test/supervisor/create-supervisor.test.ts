// The queue: who waits, who starts when, who is refused, and how it ends.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  AgentHooksRefused,
  type AgentRun,
  createSupervisor,
  type QueueOptions,
  type SpawnOptions,
  type Supervisor,
  type SupervisorOptions,
  stopAllRuns,
} from "../../src/index.ts";
import { checkCapacity, readAvailableMemory, readDescriptors } from "../../src/supervisor/capacity.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { compileFake } from "../testkit/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { endPrograms, POLITE, QUICK, STUBBORN, startProgram } from "./support.ts";

let place: Place;
let supervisor: Supervisor | undefined;
/** Prompts in the order in which their runs began, and how many were there at a time. */
let began: string[];
let most: number;
beforeEach(async () => {
  place = await makePlace();
  [began, most] = [[], 0];
});
afterEach(async () => {
  await supervisor?.stop();
  await endPrograms();
  await place.remove();
});

/** What this machine has left is no part of these tests. */
const ANY_MEMORY = { memoryPerRunBytes: 0, minFreeMemoryBytes: 0 };

const make = (options: SupervisorOptions = {}) => {
  supervisor = createSupervisor({ ...ANY_MEMORY, ...options });
  return supervisor;
};

async function optionsOf(script: FakeScript): Promise<SpawnOptions> {
  let now = 0;
  const hooks = await compileFake(place, {
    provider: "claude",
    script,
    handlers: {
      agent_prompt: ({ prompt }) => {
        began.push(String(prompt));
        now += 1;
        most = Math.max(most, now);
      },
      agent_exit: () => {
        now -= 1;
      },
    },
  });
  return {
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: () => {},
    containment: "sweep",
    startGate: "off",
  };
}

/** Codes of a refusal, or what it was rejected with instead. */
const refusalOf = (starting: Promise<unknown>) =>
  starting.then(
    () => "started",
    (error: unknown) =>
      error instanceof AgentHooksRefused
        ? error.issues.map(({ code, path }) => `${code} ${path}`).join()
        : String(error),
  );
const STOPPING = "supervisor_stopping supervisor";

async function resultsOf(starting: readonly Promise<AgentRun>[]) {
  const runs = await Promise.all(starting);
  return Promise.all(runs.map(async ({ result }) => (await result).outcome));
}

describe("the queue", () => {
  test("has as many runs at a time as it may, until their results are delivered", async () => {
    const { run, onIdle } = make({ concurrency: 2 });
    const options = await optionsOf(QUICK);
    const outcomes = await resultsOf([1, 2, 3, 4, 5].map(() => run(options)));
    expect([outcomes, most]).toEqual([Array(5).fill("success"), 2]);
    await onIdle();
    expect(supervisor).toMatchObject({ size: 0, pending: 0, live: 0 });
  });

  test("starts the highest priority first, equal ones as they came", async () => {
    const { run } = make({ concurrency: 1 });
    const [options, quick] = [await optionsOf(POLITE), await optionsOf(QUICK)];
    const holder = await run({ ...options, prompt: "holder" });
    const add = (prompt: string, queueOptions?: QueueOptions) => run({ ...quick, prompt }, queueOptions);
    const waiting = [
      add("a"),
      add("b", { priority: 1 }),
      add("c", { priority: -1 }),
      add("d"),
      add("e", { priority: 1 }),
    ];
    expect(supervisor).toMatchObject({ size: 5, pending: 0, live: 1 });
    await holder.stop();
    await resultsOf(waiting);
    // The token of `quick` notes into the same list.
    expect(began).toEqual(["holder", "b", "e", "a", "d", "c"]);
  });

  test("refuses one more than may wait, and takes one again when there is room", async () => {
    const { run } = make({ concurrency: 1, queueLimit: 1 });
    const options = await optionsOf(POLITE);
    const holder = await run(options);
    const waiting = run(options);
    expect(await refusalOf(run(options))).toBe("queue_full queueLimit");
    await holder.stop();
    await waiting;
    void run(options).catch(() => {});
    expect(supervisor).toMatchObject({ size: 1, live: 1 });
  });

  test("without room to wait takes what can start at once", async () => {
    const { run } = make({ concurrency: 1, queueLimit: 0 });
    const options = await optionsOf(POLITE);
    await run(options);
    expect(await refusalOf(run(options))).toBe("queue_full queueLimit");
  });

  test.each(["of the run", "of the queue"])("is left when the signal %s is aborted", async (whose) => {
    const { run } = make({ concurrency: 1 });
    const options = await optionsOf(POLITE);
    const holder = await run(options);
    const { signal, abort } = controllerOf();
    const other = new AbortController().signal;
    const waiting =
      whose === "of the run"
        ? run({ ...options, signal }, { signal: other })
        : run({ ...options, signal: other }, { signal });
    abort(new Error("enough"));
    expect(await refusalOf(waiting)).toBe("Error: enough");
    expect(supervisor?.size).toBe(0);
    await holder.stop();
    expect(began).toHaveLength(1);
  });

  test("stops a started run when the signal that it was queued with is aborted", async () => {
    const { run } = make();
    const { signal, abort } = controllerOf();
    const { result } = await run(await optionsOf(POLITE), { signal });
    abort(new Error("enough"));
    expect(await result).toMatchObject({ outcome: "interrupted", reason: "aborted" });
  });

  test("goes on after a start that was refused", async () => {
    const { run } = make({ concurrency: 1 });
    const options = await optionsOf(QUICK);
    const refused = run({ ...options, prompt: "" });
    const next = run(options);
    expect(await refusalOf(refused)).toBe("option_invalid prompt");
    expect(await resultsOf([next])).toEqual(["success"]);
  });

  test("lets the event loop serve others between two starts", async () => {
    const { run } = make({ concurrency: 4 });
    const options = await optionsOf(QUICK);
    let turn = 0;
    let counting = true;
    const count = () => {
      turn += 1;
      if (counting) setImmediate(count);
    };
    count();
    const turns: number[] = [];
    // A start reads its options when it begins.
    const noting = () =>
      Object.defineProperty({ ...options }, "prompt", {
        enumerable: true,
        get: () => {
          turns.push(turn);
          return "hello";
        },
      });
    await resultsOf([1, 2, 3, 4].map(() => run(noting())));
    counting = false;
    expect(new Set(turns).size).toBe(4);
  });

  test("goes on when the time of its rate is over", async () => {
    const { run } = make({ concurrency: 4, startRate: { starts: 2, perMs: 50 } });
    const options = await optionsOf(QUICK);
    expect(await resultsOf([1, 2, 3, 4, 5].map(() => run(options)))).toEqual(Array(5).fill("success"));
  });

  test("is idle when the last one that waits for the rate leaves", async () => {
    const { run, onIdle } = make({ startRate: { starts: 1, perMs: 600_000 } });
    const options = await optionsOf(QUICK);
    await resultsOf([run(options)]);
    await onIdle();
    const { signal, abort } = controllerOf();
    const waiting = refusalOf(run(options, { signal }));
    const idle = onIdle();
    abort(new Error("enough"));
    expect(await waiting).toBe("Error: enough");
    await idle;
  });

  test("keeps to its rate, and a stop does not wait for it", async () => {
    const { run, stop } = make({ concurrency: 4, startRate: { starts: 1, perMs: 600_000 } });
    const options = await optionsOf(QUICK);
    const [first, second] = [run(options), refusalOf(run(options))];
    await resultsOf([first]);
    expect(supervisor).toMatchObject({ size: 1, pending: 0, live: 0 });
    await stop();
    expect([await second, began.length]).toEqual([STOPPING, 1]);
  });
});

describe("capacity", () => {
  test.each([
    ["descriptorsPerRun", { descriptorsPerRun: 2 ** 40 }],
    ["memoryPerRunBytes", { memoryPerRunBytes: 2 ** 52 }],
    ["memoryPerRunBytes", { minFreeMemoryBytes: 2 ** 52 }],
  ])("that would run out refuses and names %s, and the next one is looked at", async (path, needs) => {
    const { run, onIdle } = make({ concurrency: 1, ...needs });
    const options = await optionsOf(QUICK);
    const starting = [run(options), run(options)].map(refusalOf);
    expect(await Promise.all(starting)).toEqual(Array(2).fill(`capacity_exhausted ${path}`));
    await onIdle();
    expect(began).toEqual([]);
  });

  test("is counted for every start under way", () => {
    const { limit = 0, open = 0 } = readDescriptors() ?? {};
    const memory = readAvailableMemory() ?? 0;
    const pathsOf = (needs: Partial<Parameters<typeof checkCapacity>[0]>, starting: number) =>
      checkCapacity(
        { descriptorsPerRun: 0, memoryPerRunBytes: 0, minFreeMemoryBytes: 0, ...needs },
        starting,
      ).map(({ path }) => path);
    const descriptorsPerRun = Math.floor((limit - open) * 0.7);
    expect(pathsOf({ descriptorsPerRun }, 1)).toEqual([]);
    expect(pathsOf({ descriptorsPerRun }, 2)).toEqual(["descriptorsPerRun"]);
    const memoryPerRunBytes = Math.floor(memory * 0.7);
    expect(pathsOf({ memoryPerRunBytes }, 1)).toEqual([]);
    expect(pathsOf({ memoryPerRunBytes }, 2)).toEqual(["memoryPerRunBytes"]);
    expect(pathsOf({ memoryPerRunBytes, minFreeMemoryBytes: memoryPerRunBytes }, 1)).toEqual([
      "memoryPerRunBytes",
    ]);
  });
});

describe("a stop", () => {
  test("refuses what waits, ends what starts and what lives, and takes nothing more", async () => {
    const { run, stop } = make({ concurrency: 2 });
    const options = await optionsOf(POLITE);
    const live = await run(options);
    const starting = refusalOf(run(options));
    const waiting = refusalOf(run(options));
    await waitUntil(() => began.length === 2, "the second start");
    const stopped = stop("deploy");
    expect(await waiting).toBe(STOPPING);
    await stopped;
    expect(supervisor).toMatchObject({ size: 0, pending: 0, live: 0 });
    expect(await live.result).toMatchObject({
      outcome: "interrupted",
      reason: "supervisor_stopping: deploy",
    });
    expect(await starting).toBe(STOPPING);
    expect(await refusalOf(run(options))).toBe(STOPPING);
  });

  test("kills what is left after its budget", async () => {
    const { run, stop } = make({ shutdownMs: 300 });
    const { result } = await run({ ...(await optionsOf(STUBBORN)), deadlines: { stopMs: 600_000 } });
    await stop();
    expect(await result).toMatchObject({ outcome: "interrupted", signal: "SIGKILL" });
  });

  test("leaves the runs of another supervisor alone", async () => {
    const options = await optionsOf(POLITE);
    const other = createSupervisor(ANY_MEMORY);
    const kept = await other.run(options);
    {
      await using disposed = createSupervisor(ANY_MEMORY);
      await disposed.run(options);
    }
    expect(other.live).toBe(1);
    await other.stop("mine");
    expect((await kept.result).reason).toBe("supervisor_stopping: mine");
  });

  test("of all runs of the process refuses what waits before the live ones have ended", async () => {
    const { run } = make({ concurrency: 1 });
    const options = await optionsOf(STUBBORN);
    const { result } = await run({ ...options, deadlines: { stopMs: 600_000 } });
    const waiting = refusalOf(run(options));
    const stopped = stopAllRuns({ reason: "all", acceptAfter: true });
    expect(await waiting).toBe(STOPPING);
    expect(supervisor?.live).toBe(1);
    await stopAllRuns({ budgetMs: 0 });
    await stopped;
    expect((await result).reason).toBe("supervisor_stopping: all");
  });

  test("does not let the program end while a start waits for the rate", async () => {
    const program = await startProgram(
      place,
      `
      const supervisor = createSupervisor({ startRate: { starts: 1, perMs: 1_500 } });
      const options = await optionsOf("quick");
      await (await supervisor.run(options)).result;
      await supervisor.onIdle();
      void supervisor.run(options).then(async ({ result }) => say({ second: (await result).outcome }));
    `,
    );
    expect(await program.ended()).toBe(0);
    expect(program.said).toContainEqual({ second: "success" });
  });

  test("lets the program end, although starts were waiting for the rate", async () => {
    const program = await startProgram(
      place,
      `
      const supervisor = createSupervisor({ startRate: { starts: 1, perMs: 600_000 } });
      const options = await optionsOf("quick");
      await (await supervisor.run(options)).result;
      await supervisor.onIdle();
      const waiting = refusalOf(supervisor.run(options));
      await supervisor.stop();
      say({ waiting: await waiting });
    `,
    );
    expect(await program.ended()).toBe(0);
    expect(program.said).toContainEqual({ waiting: "supervisor_stopping" });
  });
});

describe("an option that cannot be used is named:", () => {
  test.each<[string, object]>([
    ["concurrency", { concurrency: 0 }],
    ["queueLimit", { queueLimit: -1 }],
    ["startRate.starts", { startRate: { starts: 0, perMs: 1 } }],
    ["startRate.perMs", { startRate: { starts: 1, perMs: 2 ** 31 } }],
    ["descriptorsPerRun", { descriptorsPerRun: 1.5 }],
    ["memoryPerRunBytes", { memoryPerRunBytes: "1" }],
    ["minFreeMemoryBytes", { minFreeMemoryBytes: -1 }],
    ["shutdown", { shutdown: "no" }],
    ["shutdownMs", { shutdownMs: 0 }],
    ["concurency", { concurency: 1 }],
  ])("%s", async (path, options) => {
    expect(await refusalOf(Promise.resolve().then(() => createSupervisor(options)))).toBe(
      `option_invalid ${path}`,
    );
  });

  test.each<[string, object, object]>([
    ["priority", { priority: "1" }, {}],
    ["signal", { signal: {} }, {}],
    ["signal", {}, { signal: {} }],
    ["order", { order: 1 }, {}],
  ])("%s of a run", async (path, queueOptions, runOptions) => {
    const { run } = make();
    const options = { ...(await optionsOf(QUICK)), ...runOptions };
    expect(await refusalOf(run(options, queueOptions))).toBe(`option_invalid ${path}`);
  });
});

function controllerOf() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) };
}
