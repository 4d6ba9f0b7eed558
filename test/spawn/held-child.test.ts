// The namespace of an agent comes while its run is laid out. The agent itself must not run before everything about the run was looked at last.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentHooksRefused } from "../../src/index.ts";
import { listenToSteps, STEPS, type Step } from "../../src/journal/steps.ts";
import { holdChild } from "../../src/spawn/child.ts";
import { type NamespaceRecipe, probePidNamespace } from "../../src/spawn/namespace-recipe.ts";
import { endTree, handsOfHeld } from "../../src/spawn/stop.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";
import { expectNothingLeft } from "../journal/support.ts";
import * as fakes from "../testkit/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { livingIn } from "./escape-support.ts";
import { leftovers, makePlace, type Place } from "./support.ts";

const recipe = await probePidNamespace();
const missing = typeof recipe === "string" ? recipe : undefined;

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  listenToSteps(() => {});
  await place.remove();
});

describe.skipIf(missing !== undefined)(
  `a held agent${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    const hold = (script: string) =>
      holdChild({
        program: "/bin/sh",
        argv: ["-c", script],
        env: { PATH: process.env.PATH ?? "" },
        cwd: place.cwd,
        recipe: recipe as NamespaceRecipe,
      });
    const isThere = () => fakes.isThere(place, "ran");

    test("does not run before it is released, and gets its stdin whole", async () => {
      const held = await hold("touch ran; exec cat");
      await waitUntil(() => livingIn(place).length === 2, "the namespace's first process");
      expect(isThere()).toBe(false);
      const child = await held.release();
      const sent = `go\n${"x".repeat(300_000)}\n\nno line at the end`;
      child.stdin.end(sent);
      const chunks: Buffer[] = [];
      for await (const chunk of child.stdout) chunks.push(chunk);
      expect(Buffer.concat(chunks).toString()).toBe(sent);
      expect(isThere()).toBe(true);
      expect(await child.exited).toEqual({ code: 0, signal: null });
      await endTree(child, "no-such-marker");
    });

    test("may be released before its namespace is there", async () => {
      const child = await (await hold("touch ran; exit 5")).release();
      expect(await child.exited).toEqual({ code: 5, signal: null });
      expect(isThere()).toBe(true);
      await endTree(child, "no-such-marker");
    });

    test("does not run when its stdin ends instead: whoever held it is gone", async () => {
      const [file = "", ...words] = (recipe as NamespaceRecipe).prefix;
      const child = spawn(file, [...words, "/bin/sh", "-c", "touch ran"], {
        cwd: place.cwd,
        stdio: "ignore",
      });
      expect(await once(child, "exit")).toEqual([1, null]);
      expect(isThere()).toBe(false);
    });

    test("that is ended never ran", async () => {
      const held = await hold("touch ran");
      expect(await handsOfHeld(held, "no-such-marker").endTree()).toMatchObject({
        state: "swept",
        survivors: [],
      });
      expect(livingIn(place)).toEqual([]);
      expect(isThere()).toBe(false);
    });

    test("that was killed from outside is released as one that has ended", async () => {
      const held = await hold("touch ran");
      process.kill(held.pid, "SIGKILL");
      const child = await held.release();
      expect(child.namespace).toBeUndefined();
      expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
      expect(isThere()).toBe(false);
    });
  },
);

/** Starts a fake that says that it runs, apart from `--version`. */
async function start(doAt: Partial<Record<Step, () => void>>, containment: "auto" | "sweep" = "auto") {
  const ran = join(place.home, "ran");
  const wrap = async (binary: string) => {
    const path = join(place.home, "wrapped");
    await writeFile(
      path,
      `#!/bin/sh\n${FAKE_PROVIDER_MARK}\n[ "$1" = --version ] || echo ran >>'${ran}'\nexec '${binary}' "$@"\n`,
    );
    await chmod(path, 0o755);
    return path;
  };
  const reached: Step[] = [];
  const { starting, seen } = await fakes.start(place, {
    provider: "claude",
    script: { steps: [{ text: "done" }] },
    wrap,
    options: { containment },
  });
  listenToSteps((step) => {
    reached.push(step);
    doAt[step]?.();
  });
  const error = await starting.then(
    async (run) => void (await run.result),
    (reason: unknown) => reason,
  );
  return { error, seen, reached, hasRun: existsSync(ran) };
}

const runDirectory = () => {
  const runs = join(place.home, ".local", "state", "bridle", "run");
  return join(runs, readdirSync(runs).find((name) => !name.startsWith(".")) ?? "");
};

test("the agent runs when the run is on record, with its process, and laid out", async () => {
  const { error, reached, hasRun } = await start({});
  expect([error, hasRun]).toEqual([undefined, true]);
  expect(STEPS.filter((step) => !reached.includes(step))).toEqual(missing === undefined ? [] : ["held"]);
  const at = (step: Step) => reached.indexOf(step);
  expect(at("admitted")).toBeLessThan(at("temporary_directory_made"));
  const before: Step[] = missing === undefined ? ["held", "started"] : [];
  for (const step of [...before, "admitted", "prepared", "broker_opened"] as const)
    expect(at(step), step).toBeLessThan(at("released"));
  expect(at("started")).toBeLessThan(at("attested"));
});

test.each(["auto", "sweep"] as const)(
  "a file that was changed while the agent was held (%s): it never ran",
  async (how) => {
    const change = () => appendFileSync(join(runDirectory(), "settings.json"), " ");
    const { error, seen, hasRun } = await start({ prepared: change }, how);
    expect(error).toBeInstanceOf(AgentHooksRefused);
    expect(error).toMatchObject({
      issues: [{ code: "run_dir_unsafe", message: "changed before the start: settings.json" }],
    });
    expect([hasRun, seen.exits]).toEqual([false, ["refused"]]);
    expect(livingIn(place)).toEqual([]);
    expect(await leftovers(place)).toEqual([]);
  },
);

test.each(["before_prompt", "held"] as const)(
  "a working directory that is gone at %s: nothing is left",
  async (step) => {
    const { error, seen, hasRun } = await start({ [step]: () => rmSync(place.cwd, { recursive: true }) });
    // Another one may be gone before the agent has said that it works there.
    if (step === "before_prompt")
      expect(String(error)).toContain(`the working directory ${place.cwd} is missing`);
    if (step === "before_prompt") expect([hasRun, seen.exits]).toEqual([false, ["failed"]]);
    else expect(seen.exits).toHaveLength(1);
    await expectNothingLeft(place);
  },
);

test("a shim that was replaced while the agent was held: it never ran", async () => {
  const replace = () => {
    const folder = join(runDirectory(), "s");
    rmSync(folder, { recursive: true });
    mkdirSync(folder, { mode: 0o500 });
    writeFileSync(join(folder, "shim"), "exit 90\n", { mode: 0o500 });
  };
  const { error, seen, hasRun } = await start({ broker_opened: replace });
  expect(error).toMatchObject({ issues: [{ code: "run_dir_unsafe" }] });
  expect([hasRun, seen.exits]).toEqual([false, ["refused"]]);
  expect(livingIn(place)).toEqual([]);
});

test("of many starts at once not all are held, and all are started, once", async () => {
  const held = new Set<string>();
  const released: string[] = [];
  listenToSteps((step, runId) => {
    if (step === "held") held.add(runId);
    if (step === "released") released.push(runId);
  });
  const script = { steps: [{ text: "done" }] };
  const plays = await Promise.all(
    Array.from({ length: 8 }, () => fakes.play(place, { provider: "claude", script })),
  );
  expect(plays.map(({ result }) => result.outcome)).toEqual(plays.map(() => "success"));
  expect(new Set(released).size).toBe(8);
  expect(released).toHaveLength(8);
  expect(held.size).toBeLessThan(8);
  // The crowd is gone.
  await fakes.play(place, { provider: "claude", script });
  expect(held.has(released.at(-1) ?? "")).toBe(missing === undefined);
});
