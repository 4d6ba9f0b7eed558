// What a run writes down while it lives, who can see it, and how another process asks it to stop.

import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listRuns, stopRun } from "../../src/index.ts";
import { listenToSteps } from "../../src/journal/steps.ts";
import { requestDirectory } from "../../src/journal/stop-requests.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { admittedLine, writeJournal, writeRaw } from "./lost-run.ts";
import { journalsOf, readAllJournals, stateDirOf } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const HANG = { steps: [{ text: "up" }, { sins: ["hang"] }] } as const;
const play = (what: Partial<fakes.Play> = {}) =>
  fakes.play(place, { provider: "claude", script: { steps: [{ text: "x" }] }, ...what });
const journalOfOnly = () => join(journalsOf(place), readdirSync(journalsOf(place)).find(isJournal) ?? "");
const isJournal = (name: string) => name.endsWith(".jsonl");

/** A run that waits for its end; what `look` finds while it does. */
async function during<Found>(look: (runId: string) => Promise<Found>, handlers: fakes.Play["handlers"] = {}) {
  const { starting, seen } = await fakes.start(place, { provider: "claude", script: HANG, handlers });
  const run = await starting;
  const found = await look(run.id);
  const result = await run.stop();
  return { found, result, seen };
}

describe("the journal of a run", () => {
  test("says everything in order, once, and is put away at the end", async () => {
    await play();
    const [lines = []] = readAllJournals(place);
    const types = lines.map(({ type }) => type);
    expect([types[0], ...types.slice(1, 3).sort(), ...types.slice(3)]).toEqual([
      "admitted",
      // An agent that is held is written down while its run is laid out.
      "prepared",
      "started",
      "exit_started",
      "ended",
    ]);
    expect(lines.at(-1)).toMatchObject({ by: "supervisor", outcome: "success", exitDelivery: "delivered" });
    expect(readdirSync(journalsOf(place)).filter(isJournal)).toEqual([]);
  });

  test("holds no prompt, and no value of a secret or of a hook's variable", async () => {
    const secret = "s3cret-value-of-nobody";
    await play({
      options: {
        prompt: "very private words",
        env: { MY_TOKEN: secret },
        secrets: ["another-secret-value"],
      },
    });
    const text = JSON.stringify(readAllJournals(place));
    expect(text).toContain('"admitted"');
    for (const word of ["very private", secret, "another-secret-value"]) expect(text).not.toContain(word);
  });

  test("is the user's alone", async () => {
    const { found } = await during(async () => [
      lstatSync(journalOfOnly()).mode & 0o777,
      lstatSync(journalsOf(place)).mode & 0o777,
    ]);
    expect(found).toEqual([0o600, 0o700]);
  });

  test("names the agent before its first output is read", async () => {
    let types: unknown[] = [];
    await play({
      handlers: {
        SessionStart: () => {
          types = readFileSync(journalOfOnly(), "utf8")
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line).type);
        },
      },
    });
    expect(types.sort()).toEqual(["admitted", "prepared", "started"]);
  });

  test("says that the exit has started before its hooks run", async () => {
    let text = "";
    await play({
      handlers: {
        agent_exit: () => {
          text = readFileSync(journalOfOnly(), "utf8");
        },
      },
    });
    expect(text).toContain("exit_started");
    expect(text).not.toContain('"ended"');
  });

  test("of a refused start has its end too", async () => {
    await fakes.refusalOf(place, {
      provider: "claude",
      script: { steps: [], sins: ["lie-hooks-missing"] },
    });
    const [lines = []] = readAllJournals(place);
    expect(lines.at(-1)).toMatchObject({ type: "ended", outcome: "refused" });
  });

  test("is not made for a prompt that was denied", async () => {
    await fakes.refusalOf(place, {
      provider: "claude",
      script: { steps: [] },
      handlers: { agent_prompt: fakes.block },
    });
    expect(existsSync(journalsOf(place))).toBe(false);
  });

  test("that cannot be written is a warning, and the run goes on, deaf to requests", async () => {
    await mkdir(requestDirectory(stateDirOf(place)), { recursive: true });
    await chmod(journalsOf(place), 0o777);
    const { result } = await play({
      script: HANG,
      options: { deadlines: { wallMs: 1_000, stopMs: 200 } },
      handlers: {
        agent_prompt: async ({ run_id: runId }) => {
          await writeFile(join(requestDirectory(stateDirOf(place)), String(runId)), "");
        },
      },
    });
    expect(result).toMatchObject({ outcome: "timed_out", reason: "wall" });
    expect(result.warnings.filter(({ code }) => code === "journal_unavailable")).toHaveLength(1);
  });
});

describe("the list of runs", () => {
  test("shows a running one with its last event, and an ended one when asked", async () => {
    const list = (all: boolean) => listRuns({ all, stateDir: stateDirOf(place) });
    const { starting } = await fakes.start(place, {
      provider: "claude",
      script: HANG,
      options: { receiptSink: undefined as never, containment: "sweep" },
    });
    const run = await starting;
    expect(await list(false)).toMatchObject([
      {
        runId: run.id,
        state: "running",
        provider: "claude",
        cwd: place.cwd,
        hooks: 2,
        agentPid: run.pid,
        supervisorPid: process.pid,
        lastEvent: { kind: expect.any(String) },
      },
    ]);
    await run.stop();
    expect(await list(false)).toEqual([]);
    expect(await list(true)).toMatchObject([{ state: "ended", outcome: "interrupted" }]);
  });

  test("shows lost and unreadable ones as what they are", async () => {
    await writeJournal(place, "lost", [admittedLine(place, "lost")]);
    await writeRaw(place, "odd", "no\n");
    const listed = await listRuns({ stateDir: stateDirOf(place) });
    expect(listed.map(({ runId, state }) => [runId, state])).toEqual([
      ["lost", "orphaned"],
      ["odd", "unreadable"],
    ]);
  });
});

describe("a request to stop", () => {
  const stop = (runId: string, timeoutMs = 20_000) =>
    stopRun(runId, { timeoutMs, stateDir: stateDirOf(place) });

  test("ends the run as interrupted, with one agent_exit, and leaves no request behind", async () => {
    const { found, result, seen } = await during(stop);
    expect(found).toBe("stopped");
    expect(result).toMatchObject({ outcome: "interrupted", reason: "bridle stop" });
    expect(seen.exits).toEqual(["interrupted"]);
    expect(readdirSync(requestDirectory(stateDirOf(place)))).toEqual([]);
  });

  test("by three at once ends the run once, and leaves no request behind", async () => {
    const { found, seen } = await during((runId) => Promise.all([stop(runId), stop(runId), stop(runId)]));
    expect(found).toEqual(["stopped", "stopped", "stopped"]);
    expect(seen.exits).toEqual(["interrupted"]);
    expect(readdirSync(requestDirectory(stateDirOf(place)))).toEqual([]);
  });

  test.each(["exit_started", "ended"])("that comes at the step %s leaves with the run", async (when) => {
    let asked = 0;
    listenToSteps((step, runId) => {
      if (step !== when) return;
      asked += 1;
      writeFileSync(join(requestDirectory(stateDirOf(place)), runId), "");
    });
    const { result } = await play();
    listenToSteps(() => {});
    expect([asked, result.outcome]).toEqual([1, "success"]);
    expect(readdirSync(requestDirectory(stateDirOf(place)))).toEqual([]);
  });

  test("whose asker sees the end is taken back", async () => {
    const { starting } = await fakes.start(place, { provider: "claude", script: HANG });
    const run = await starting;
    // The run ends by itself before its supervisor sees the request.
    const [answer] = await Promise.all([stop(run.id), run.stop()]);
    expect(answer).toBe("stopped");
    expect(readdirSync(requestDirectory(stateDirOf(place)))).toEqual([]);
  });

  test("that came before the supervisor looked is seen", async () => {
    const { starting } = await fakes.start(place, {
      provider: "claude",
      script: HANG,
      handlers: {
        agent_prompt: async ({ run_id: runId }) => {
          await mkdir(requestDirectory(stateDirOf(place)), { recursive: true });
          await writeFile(join(requestDirectory(stateDirOf(place)), String(runId)), "");
        },
      },
    });
    const { outcome, reason } = await (await starting).result;
    expect([outcome, reason]).toEqual(["interrupted", "bridle stop"]);
  });

  test("of a run that is not there, has ended or is orphaned says so", async () => {
    const { result } = await play();
    await writeJournal(place, "lost", [admittedLine(place, "lost")]);
    expect(await Promise.all(["none", "../odd", result.runId, "lost"].map((id) => stop(id)))).toEqual([
      "no_such_run",
      "no_such_run",
      "ended",
      "orphaned",
    ]);
  });

  test("that nobody answers is taken back", async () => {
    const { supervisor } = admittedLine(place, "deaf");
    const { startTimeOf } = await import("../../src/exec/sweep.ts");
    const startTime = startTimeOf(process.pid) ?? null;
    await writeJournal(place, "deaf", [
      admittedLine(place, "deaf", { supervisor: { ...supervisor, startTime } }),
    ]);
    expect(await stop("deaf", 100)).toBe("no_answer");
    await waitUntil(() => readdirSync(requestDirectory(stateDirOf(place))).length === 0);
  });
});
