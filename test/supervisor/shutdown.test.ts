// A program with live runs is told to end, or fails: what its parent sees, what agent_exit was told, and that no process is left.

import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leftovers, makePlace, type Place } from "../spawn/support.ts";
import {
  DIST,
  endPrograms,
  livingOf,
  type Program,
  readAllJournals,
  readEnds,
  startProgram,
} from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  await endPrograms();
  await place.remove();
});

const run = (body: string, extra: Record<string, unknown> = {}) => startProgram(place, body, extra);
const stopping = (why: string) => `interrupted supervisor_stopping: ${why}`;

async function expectNothingLeft(): Promise<void> {
  expect(livingOf(place)).toEqual([]);
  expect(await leftovers(place)).toEqual([]);
  const lastLines = readAllJournals(place).map((lines) => lines.at(-1)?.type);
  expect(lastLines.filter((type) => type !== "ended")).toEqual([]);
}

/** One that ends when asked, one that only KILL ends, one whose agent_exit takes its time. */
const THREE = `
const runs = await Promise.all([
  start("polite", { deadlines: { shutdownMs: 500 } }),
  start("stubborn", { deadlines: { stopMs: 600_000, shutdownMs: 1_500 } }),
  start("polite", { exitMs: 700, deadlines: { shutdownMs: 500 } }),
]);
void runs[0].result.then(async () => say({ late: await refusalOf(optionsOf("quick").then(spawnAgent)) }));
say({ ready: true });
`;

/** A stop that nobody waits for in a test: longer than any test may take. */
const ENDLESS = "deadlines: { stopMs: 600_000, shutdownMs: 600_000 }";

async function signalWhen(program: Program, field: string, signal: NodeJS.Signals): Promise<void> {
  await program.wait(field);
  program.child.kill(signal);
}

describe("a signal", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s stops every run within one budget, delivers each agent_exit, and ends the program",
    async (signal) => {
      const program = await run(THREE);
      await signalWhen(program, "ready", signal);
      expect(await program.ended()).toBe(signal);
      expect(await readEnds(place)).toEqual([stopping(signal), stopping(signal), stopping(signal)]);
      expect(program.said.filter((line) => "ended" in line)).toHaveLength(3);
      expect(program.said).toContainEqual({ late: "supervisor_stopping" });
      await expectNothingLeft();
    },
  );

  test("ends a program that waits for nothing but its run", async () => {
    const program = await run(`
      const declare = { agent_exit: [{ hooks: [{ type: "function", handler: () => undefined }] }] };
      const { result } = await spawnAgent(await optionsOf("polite", { declare, containment: "auto" }));
      say({ ready: true });
      await result;
    `);
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe("SIGTERM");
  });

  test("that comes a second time takes the grace away, and agent_exit is delivered all the same", async () => {
    const program = await run(`
      await Promise.all([start("polite"), start("stubborn", { ${ENDLESS} })]);
      say({ ready: true });
    `);
    await signalWhen(program, "ready", "SIGTERM");
    await signalWhen(program, "ended", "SIGTERM");
    expect(await program.ended()).toBe("SIGTERM");
    expect(await readEnds(place)).toEqual([stopping("SIGTERM"), stopping("SIGTERM")]);
    await expectNothingLeft();
  });

  test("while agent_prompt decides refuses the start, and owes no agent_exit", async () => {
    const program = await run(`
      const declare = { agent_prompt: [command("-e", "setTimeout(() => {}, 1e6)")] };
      const starting = optionsOf("polite", { declare }).then((options) => {
        const starting = spawnAgent(options);
        setTimeout(() => say({ ready: true }), 300);
        return starting;
      });
      say({ refused: await refusalOf(starting) });
    `);
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe("SIGTERM");
    expect(program.said).toContainEqual({ refused: "supervisor_stopping" });
    expect(await readEnds(place)).toEqual([]);
    await expectNothingLeft();
  });

  test("during the preflight refuses the start, and agent_exit is told interrupted", async () => {
    const program = await run(`
      const { listenToSteps } = await import(dist + "/journal/steps.js");
      listenToSteps((step) => step === "started" && say({ ready: true }));
      say({ refused: await refusalOf(optionsOf("silent", { deadlines: { attestMs: 600_000 } }).then(spawnAgent)) });
    `);
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe("SIGTERM");
    expect(program.said).toContainEqual({ refused: "supervisor_stopping" });
    expect(await readEnds(place)).toEqual([stopping("SIGTERM")]);
    await expectNothingLeft();
  });

  test("is the program's when the run says so: stopAllRuns stops it, and no listener is added", async () => {
    const program = await run(`
      const { createRequire } = await import("node:module");
      createRequire(dist + "/index.js")("proper-lockfile"); // brings listeners of signal-exit, which count as none
      process.on("SIGTERM", async () => {
        await stopAllRuns({ reason: "deploy" });
        process.exit(7);
      });
      const before = process.listenerCount("SIGTERM");
      await start("polite", { shutdown: "off" });
      say({ ready: true, added: process.listenerCount("SIGTERM") - before });
    `);
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe(7);
    expect(program.said).toContainEqual({ ready: true, added: 0 });
    expect(await readEnds(place)).toEqual([stopping("deploy")]);
  });

  test("that ends the program takes the runs with shutdown off with it", async () => {
    const program = await run(`
      await Promise.all([start("polite"), start("polite", { shutdown: "off" })]);
      say({ ready: true });
    `);
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe("SIGTERM");
    expect(await readEnds(place)).toEqual([stopping("SIGTERM"), stopping("SIGTERM")]);
  });
});

describe("a program with a listener of its own", () => {
  test.each(["on", "once"])("added with %s is not ended, and its listener is called once", async (add) => {
    const program = await run(
      `
      let handled = 0;
      process[extra.add]("SIGTERM", () => { handled += 1; });
      const live = await start("polite");
      const other = await start("polite", { shutdown: "off" });
      say({ ready: true });
      await live.result;
      // A signal that was raised again would have come by then.
      setTimeout(async () => {
        say({ handled, late: await refusalOf(optionsOf("quick").then(spawnAgent)) });
        await other.stop("by the program");
        process.exit(7);
      }, 300);
    `,
      { add },
    );
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe(7);
    expect(program.said).toContainEqual({ handled: 1, late: "supervisor_stopping" });
    expect(await readEnds(place)).toEqual(["interrupted by the program", stopping("SIGTERM")]);
  });

  test.each(["on", "once"])("for uncaught errors, added with %s, keeps its runs", async (add) => {
    const program = await run(
      `
      process[extra.add]("uncaughtException", ({ message }) => say({ message }));
      const live = await start("polite");
      setTimeout(() => { throw new Error("boom"); });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await live.stop("by the program");
      process.exit(7);
    `,
      { add },
    );
    expect(await program.ended()).toBe(7);
    expect(program.said).toContainEqual({ message: "boom" });
    expect(await readEnds(place)).toEqual(["interrupted by the program"]);
  });

  test("of signal-exit ends as it would have ended", async () => {
    const program = await run(`
      const { createRequire } = await import("node:module");
      const { onExit } = createRequire(dist + "/index.js")("signal-exit");
      onExit((code, signal) => say({ left: signal }));
      await start("polite");
      say({ ready: true });
    `);
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe("SIGTERM");
    expect(program.said).toContainEqual({ left: "SIGTERM" });
    expect(await readEnds(place)).toEqual([stopping("SIGTERM")]);
  });

  test("of another copy of this package ends when both have stopped, each with its grace", async () => {
    const copy = `${DIST}-copy`;
    await cp(DIST, copy, { recursive: true });
    const program = await run(
      `
      const other = await import(extra.copy + "/index.js");
      const by = { spawner: other.spawnAgent, by: other.compileAgentHooks };
      await Promise.all([start("polite"), start("stubborn", { ...by, deadlines: { stopMs: 2_000 } })]);
      say({ ready: true });
    `,
      { copy },
    );
    await signalWhen(program, "ready", "SIGTERM");
    expect(await program.ended()).toBe("SIGTERM");
    expect(await readEnds(place)).toEqual([stopping("SIGTERM"), stopping("SIGTERM")]);
    // Without its grace it would have been killed before.
    expect(existsSync(join(place.home, "terminated"))).toBe(true);
  });
});

describe("an uncaught error", () => {
  test.each([
    ["thrown", `setTimeout(() => { throw new Error("boom"); })`],
    ["rejected", `void Promise.reject(new Error("boom"))`],
  ])("that was %s is printed, stops the runs and exits with 1", async (_, fail) => {
    const program = await run(`
      await Promise.all([start("polite"), start("polite", { exitMs: 700 })]);
      ${fail};
    `);
    expect(await program.ended()).toBe(1);
    expect(program.errors()).toMatch(/Error: boom\n +at .*program-/);
    expect(await readEnds(place)).toEqual([stopping("uncaughtException"), stopping("uncaughtException")]);
    await expectNothingLeft();
  });

  test("in a worker thread ends the thread alone, when its agent_exit has run", async () => {
    const program = await run(`
      const { Worker, isMainThread } = await import("node:worker_threads");
      if (isMainThread) {
        const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
        worker.on("error", () => {});
        worker.on("exit", (code) => say({ thread: code }));
      } else {
        await start("polite");
        setTimeout(() => { throw new Error("boom"); });
      }
    `);
    expect(await program.ended()).toBe(0);
    expect(program.said).toContainEqual({ thread: 1 });
    expect(await readEnds(place)).toEqual([stopping("uncaughtException")]);
  });
});

describe("listeners", () => {
  test("are there while a run lives and gone after the last one", async () => {
    const program = await run(`
      const { createRequire } = await import("node:module");
      createRequire(dist + "/index.js")("proper-lockfile"); // brings listeners of signal-exit, which count as none
      const count = () => ["SIGTERM", "SIGINT", "SIGHUP", "uncaughtException", "removeListener"].map((name) => process.listenerCount(name));
      const before = count();
      const added = () => count().map((now, index) => now - before[index]);
      const one = await start("polite");
      const other = await start("polite");
      await one.stop();
      say({ during: added() });
      await other.stop();
      await new Promise(setImmediate);
      say({ after: added() });
    `);
    expect(await program.ended()).toBe(0);
    expect(program.said).toContainEqual({ during: [1, 1, 1, 1, 1] });
    expect(program.said).toContainEqual({ after: [0, 0, 0, 0, 0] });
  });
});

describe("stopAllRuns", () => {
  test("reaches a first run whose code is still being loaded", async () => {
    const program = await run(`
      const starting = spawnAgent(await optionsOf("quick"));
      await stopAllRuns({ reason: "early", acceptAfter: true });
      say({ first: await refusalOf(starting), next: await refusalOf(start("quick")) });
    `);
    expect(await program.ended()).toBe(0);
    expect(program.said).toContainEqual({ first: "supervisor_stopping", next: "started" });
    await expectNothingLeft();
  });

  test("with a budget of 0 kills, and takes new runs again only when told to", async () => {
    const program = await run(`
      const stubborn = await start("stubborn", { shutdown: "off", ${ENDLESS} });
      await stopAllRuns({ reason: "first", budgetMs: 0, acceptAfter: true });
      const quick = await spawnAgent(await optionsOf("quick"));
      say({ outcome: (await quick.result).outcome });
      await stopAllRuns();
      say({ late: await refusalOf(optionsOf("quick").then(spawnAgent)) });
      say({ invalid: await refusalOf(stopAllRuns({ budgetMs: -1 })) });
    `);
    expect(await program.ended()).toBe(0);
    expect(program.said).toContainEqual({ outcome: "success" });
    expect(program.said).toContainEqual({ late: "supervisor_stopping" });
    expect(program.said).toContainEqual({ invalid: "option_invalid" });
    expect((await readEnds(place))[0]).toBe(stopping("first"));
  });
});
