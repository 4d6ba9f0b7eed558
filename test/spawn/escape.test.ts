// What a tool leaves behind is gone when the run's result is there, or the result says that it is not. Real processes, started by a fake
// agent's shell tool; a zombie is dead.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type AgentRun,
  compileAgentHooks,
  type RunResult,
  type SpawnOptions,
  spawnAgent,
} from "../../src/index.ts";
import { listenToSteps, type Step } from "../../src/journal/steps.ts";
import { probePidNamespace } from "../../src/spawn/namespace-recipe.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import * as fakes from "../testkit/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { ESCAPES, type Escape, KNOWN_HOLE, killAllIn, livingIn } from "./escape-support.ts";
import { isAlive, leftovers, makePlace, type Place } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  listenToSteps(() => {});
  killAllIn(place);
  await place.remove();
});

const recipe = await probePidNamespace();
const missing = typeof recipe === "string" ? recipe : undefined;
const modes = [
  { containment: "sweep", why: "" },
  { containment: "pid-namespace", why: missing === undefined ? "" : `(skipped here: ${missing})` },
] as const;
type Mode = (typeof modes)[number]["containment"];
const isSkipped = (mode: Mode) =>
  process.platform !== "linux" || (mode === "pid-namespace" && missing !== undefined);

const start = async (script: FakeScript, options: Partial<SpawnOptions>, handlers = {}) => {
  const play = {
    provider: "claude",
    script,
    handlers,
    options: { deadlines: { stopMs: 200 }, ...options },
  } as const;
  return fakes.start(place, play);
};

/** The run ends by itself once they are there, or is stopped while the tool is under way. */
async function runAway(how: Escape, containment: Mode): Promise<RunResult> {
  // The agent is there beside them.
  const areThere = () => fakes.isThere(place, "up") && livingIn(place).length > how.leaves;
  const hasLeft = () => waitUntil(areThere, "what is to be left behind");
  const PreToolUse: fakes.Handler = async ({ tool_command: command }) => {
    if (command === "true") await hasLeft();
  };
  const steps = [{ tools: [{ shell: how.shell }] }, { tools: [{ shell: "true" }] }, { text: "done" }];
  const { starting } = await start({ steps }, { containment }, { PreToolUse });
  const run = await starting;
  if (how.isUnderWay === undefined) return run.result;
  await hasLeft();
  return run.stop("enough");
}

describe.each(modes)("$containment $why", ({ containment }) => {
  describe.skipIf(isSkipped(containment))("leaves nothing of", () => {
    test.each(Object.keys(ESCAPES))("%s", async (name) => {
      const how = ESCAPES[name] as Escape;
      const { outcome, extinction } = await runAway(how, containment);
      expect(outcome).toBe(how.isUnderWay === undefined ? "success" : "interrupted");
      expect(extinction).toEqual(
        containment === "sweep"
          ? { state: "swept", method: "tree+group+marker", survivors: [] }
          : { state: "proven", method: "pidns", survivors: [] },
      );
      expect(livingIn(place)).toEqual([]);
    });

    test("a child that holds the agent's own output", async () => {
      const { starting } = await start(
        { steps: [{ sins: ["leave-child-holding-stdout", "leave-child"], text: "done" }] },
        { containment, deadlines: { drainMs: 100 } },
      );
      const { outcome, extinction } = await (await starting).result;
      expect({ outcome, survivors: extinction.survivors }).toEqual({ outcome: "success", survivors: [] });
      expect(livingIn(place)).toEqual([]);
    });
  });

  describe.skipIf(isSkipped(containment))("an abort", () => {
    const settle = async (starting: Promise<AgentRun>) => {
      const outcome = await starting.then(
        async (run) => (await run.result).outcome,
        () => "rejected",
      );
      expect(["interrupted", "rejected"]).toContain(outcome);
      expect(livingIn(place)).toEqual([]);
      expect(await leftovers(place)).toEqual([]);
    };
    const BUSY: FakeScript = {
      steps: [{ tools: [{ shell: "setsid sleep 1000 & sleep 1000" }] }],
      sins: ["ignore-signals"],
    };

    test.each([0, 1, 5, 50])("after %d ms settles, and nothing is left", async (ms) => {
      const { starting } = await start(BUSY, { containment, signal: AbortSignal.timeout(ms) });
      await settle(starting);
    });

    test.each<Step>(["prepared", "child_started", "started", "attested", "prompt_handed_over"])(
      "at the step %s settles, and nothing is left",
      async (step) => {
        const abort = new AbortController();
        listenToSteps((reached) => {
          if (reached === step) abort.abort();
        });
        const { starting } = await start(BUSY, { containment, signal: abort.signal });
        await settle(starting);
      },
    );

    test.each([0, 20, 100])("%d ms into codex's preflight settles, and nothing is left", async (ms) => {
      const abort = new AbortController();
      listenToSteps((reached) => {
        if (reached === "broker_opened") setTimeout(() => abort.abort(), ms);
      });
      const { starting } = await fakes.start(place, {
        provider: "codex",
        script: BUSY,
        options: { containment, signal: abort.signal, deadlines: { stopMs: 200 } },
      });
      await settle(starting);
    });

    test("during a hook settles, and nothing is left", async () => {
      const abort = new AbortController();
      const PreToolUse = async () => {
        abort.abort();
        await new Promise((resolve) => setTimeout(resolve, 500));
      };
      const { starting } = await start(BUSY, { containment, signal: abort.signal }, { PreToolUse });
      await settle(starting);
    });

    test("while the output is drained settles, and nothing is left", async () => {
      const abort = new AbortController();
      const { starting } = await start(
        { steps: [{ sins: ["leave-child-holding-stdout"], text: "done" }] },
        { containment, signal: abort.signal, deadlines: { drainMs: 500 } },
      );
      const run = await starting;
      await waitUntil(() => !existsSync(`/proc/${run.pid}`), "the agent's end");
      abort.abort();
      // A namespace is empty before its end is told; until then an abort counts.
      const { outcome } = await run.result;
      expect(containment === "sweep" ? ["success"] : ["success", "interrupted"]).toContain(outcome);
      expect(livingIn(place)).toEqual([]);
    });
  });
});

test.skipIf(isSkipped("sweep"))(
  "a child of the agent's own without the marker is noted at the final message",
  async () => {
    const script: FakeScript = { steps: [{ text: "done" }] };
    const { binary } = await createFakeProvider({
      provider: "claude",
      script,
      directory: join(place.home, "fakes"),
    });
    const leave = `if (!process.argv.includes("--version"))
  (await import("node:child_process")).spawn("env", ["-i", "sleep", "1000"], { detached: true, stdio: "ignore" }).unref();`;
    await writeFile(
      binary,
      `${await readFile(binary, "utf8")}`.replace("\nawait run", `\n${leave}\nawait run`),
    );
    const hooks = await compileAgentHooks({}, { provider: "claude", cwd: place.cwd, binary, prove: "off" });
    const run = await spawnAgent({
      hooks,
      prompt: "hello",
      cwd: place.cwd,
      baseEnv: place.env,
      containment: "sweep",
    });
    expect(livingIn(place).length).toBeGreaterThan(0);
    expect((await run.result).outcome).toBe("success");
    expect(livingIn(place)).toEqual([]);
  },
);

describe.skipIf(isSkipped("sweep"))("the known hole", () => {
  test("no marker, no parent and a session of its own: the sweep does not find it", async () => {
    const { extinction } = await runAway(KNOWN_HOLE, "sweep");
    expect(extinction.state).toBe("swept");
    expect(livingIn(place)).toHaveLength(1);
  });

  test.skipIf(isSkipped("pid-namespace"))("a PID namespace has no such hole", async () => {
    const { extinction } = await runAway(KNOWN_HOLE, "pid-namespace");
    expect(extinction).toMatchObject({ state: "proven", survivors: [] });
    expect(livingIn(place)).toEqual([]);
  });
});

describe.skipIf(isSkipped("pid-namespace"))("in a PID namespace", () => {
  const inside = { containment: "pid-namespace" } as const;

  test("the agent cannot signal a process outside, and sees none", async () => {
    const outside = spawn("sleep", ["1000"], { stdio: "ignore" });
    try {
      const shell = `kill -9 ${outside.pid} || echo missed; ls /proc | grep -cx ${outside.pid}`;
      const { events } = await fakes.play(place, {
        provider: "claude",
        script: { steps: [{ tools: [{ shell }] }, { text: "done" }] },
        options: inside,
      });
      expect(events).toContainEqual(
        expect.objectContaining({ type: "tool_result", output: expect.stringMatching(/missed\n0/) }),
      );
      expect(isAlive(outside.pid as number)).toBe(true);
    } finally {
      outside.kill("SIGKILL");
      await once(outside, "exit");
    }
  });

  test("a run's pid is the agent's own, and a signal to it reaches the agent", async () => {
    const { starting } = await start({ steps: [{ text: "up" }, { sins: ["hang"] }] }, inside);
    const run = await starting;
    expect(readFileSync(`/proc/${run.pid}/cmdline`, "utf8").split("\0")[0]).toBe(process.execPath);
    for await (const event of run) if (event.type === "message") process.kill(run.pid, "SIGKILL");
    expect(await run.result).toMatchObject({
      outcome: "failed",
      reason: "killed by SIGKILL",
      exitCode: null,
    });
  });

  test.each(["claude", "codex"] as const)("%s is stopped in its own way", async (provider) => {
    const { starting } = await fakes.start(place, {
      provider,
      script: { steps: [{ text: "up" }, { sins: ["hang"] }] },
      options: { ...inside, deadlines: { stopMs: 20_000 } },
    });
    const run = await starting;
    for await (const event of run) if (event.type === "message") void run.stop("enough");
    const { outcome, signal, extinction } = await run.result;
    expect({ outcome, signal, state: extinction.state }).toEqual({
      outcome: "interrupted",
      signal: null,
      state: "proven",
    });
  });
});
