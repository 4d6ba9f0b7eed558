// ps, stop and recover as commands, against a supervisor of its own process.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatRuns } from "../../src/cli/ps.ts";
import { isSettled } from "../../src/cli/recover.ts";
import type { Recovery } from "../../src/index.ts";
import { DIST, killRest, readExits, type Supervisor, startSupervisor } from "../journal/support.ts";
import { makePlace, type Place } from "../spawn/support.ts";

let place: Place;
let supervisor: Supervisor | undefined;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  await supervisor?.kill();
  killRest(place);
  await place.remove();
});

const HANG = { steps: [{ text: "up" }, { sins: ["hang"] }] } as const;

function bridle(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const main = join(DIST, "cli", "main.js");
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { env: place.env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

test("a running run is listed and stopped, with one agent_exit by its supervisor", async () => {
  supervisor = await startSupervisor(place, HANG, {});
  await supervisor.wait("message");
  const { started: id } = (await supervisor.wait("started")) as { started: string };
  expect((await bridle("ps")).stdout).toContain(`${id}  running  claude`);
  expect(JSON.parse((await bridle("ps", "--json")).stdout)).toMatchObject({
    type: "runs",
    runs: [{ runId: id, state: "running", supervisorPid: supervisor.child.pid }],
  });
  expect(await bridle("stop", id)).toMatchObject({ code: 0, stdout: "bridle: the run has ended\n" });
  expect(await supervisor.wait("outcomes")).toEqual({ outcomes: ["interrupted"] });
  expect(await readExits(place)).toEqual(["interrupted undefined"]);
  expect(JSON.parse((await bridle("stop", id, "--json")).stdout)).toMatchObject({ answer: "ended" });
});

test("a lost run is listed as orphaned, cannot be stopped, and is recovered", async () => {
  supervisor = await startSupervisor(place, HANG, {});
  await supervisor.wait("message");
  const { started: id } = (await supervisor.wait("started")) as { started: string };
  await supervisor.kill();
  expect((await bridle("ps")).stdout).toContain(`${id}  orphaned`);
  const stop = await bridle("stop", id);
  expect([stop.code, stop.stderr]).toEqual([1, expect.stringContaining("bridle recover")]);
  const { code, stdout } = await bridle("recover", "--json");
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { type: "recovered", runs: [{ runId: id, state: "recovered", exitDelivery: "delivered" }] },
  ]);
  expect(await readExits(place)).toEqual(["lost true"]);
  expect((await bridle("ps", "--all")).stdout).toContain(`${id}  ended:lost`);
});

test("a lost run with a function is told loudly, and stays open", async () => {
  supervisor = await startSupervisor(place, HANG, { isFunction: true });
  await supervisor.wait("message");
  await supervisor.kill();
  for (const _ of [1, 2]) {
    const { code, stdout, stderr } = await bridle("recover");
    expect([code, stdout, stderr]).toEqual([
      1,
      expect.stringMatching(/^open .*agent_exit undeliverable/),
      expect.stringContaining("is a function"),
    ]);
  }
});

test("runs are a table, and a name of a folder cannot write to the terminal by itself", () => {
  expect(
    formatRuns([
      {
        runId: "r1",
        state: "running",
        provider: "codex",
        cwd: "/srv",
        ageMs: 61_000,
        hooks: 2,
        lastEvent: { kind: "hook", at: "" },
      },
      { runId: "", state: "unreadable", problem: "/x belongs to uid 5" },
    ]),
  ).toEqual([
    "ID  STATE       PROVIDER  AGE  HOOKS  LAST  CWD",
    "r1  running     codex     1m   2      hook  /srv",
    "-   unreadable  -         -    -      -     /x belongs to uid 5",
  ]);
});

const recovery = (changes: Partial<Recovery>): Recovery => ({
  runId: "r",
  state: "recovered",
  exitDelivery: "delivered",
  problems: [],
  ...changes,
});

test.each([
  [{}, true],
  [{ exitDelivery: "none" }, true],
  [{ state: "running", exitDelivery: undefined }, true],
  [{ state: "claimed", exitDelivery: undefined }, true],
  [{ exitDelivery: "unknown" }, false],
  [{ state: "open", exitDelivery: "undeliverable" }, false],
  [{ state: "unreadable", exitDelivery: undefined }, false],
  [{ state: "elsewhere", exitDelivery: undefined }, false],
  [{ extinction: { state: "unproven", method: "", survivors: [] } }, false],
  [{ extinction: { state: "unproven", method: "elsewhere", survivors: [] } }, true],
] as [Partial<Recovery>, boolean][])("%j needs nobody: %s", (changes, expected) => {
  expect(isSettled(recovery(changes))).toBe(expected);
});
