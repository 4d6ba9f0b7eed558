// The supervisor is killed at every named step of a run. Afterwards no process of the agent lives, no run directory is there, the exit
// hook has started at most once, and each admitted run has exactly one terminal record.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recoverRuns } from "../../src/index.ts";
import { STEPS, type Step } from "../../src/journal/steps.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import { isAlive, leftovers, makePlace, type Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import {
  childOf,
  expectNothingLeft,
  killRest,
  livingOf,
  readAllJournals,
  readExits,
  type Supervisor,
  startSupervisor,
  stateDirOf,
  watchdogsBelow,
} from "./support.ts";

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

/** A child in the agent's group and one in a session of its own. */
const CHILDREN: FakeScript = {
  steps: [{ sins: ["leave-child", "leave-child-session"] }, { text: "{{children}}" }],
};
const HANGING: FakeScript = { ...CHILDREN, steps: [...CHILDREN.steps, { sins: ["hang"] }] };

const recover = () => recoverRuns({ stateDir: stateDirOf(place), env: place.env });
const at = (step: Step) => STEPS.indexOf(step);
const hasAgent = (step: Step) => at(step) >= at("child_started") && at(step) < at("tree_gone");
const isAdmitted = (step: Step) => at(step) >= at("admitted");
const outcomesOf = () =>
  readAllJournals(place).map((lines) =>
    lines.filter(({ type }) => type === "ended").map((line) => line.outcome),
  );

async function killAt(
  step: Step | "message",
  orders: Parameters<typeof startSupervisor>[2] = {},
): Promise<Supervisor> {
  supervisor = await startSupervisor(place, step === "message" ? HANGING : CHILDREN, {
    haltAt: step,
    ...orders,
  });
  await supervisor.wait("halted");
  if (step === "message" || hasAgent(step))
    await waitUntil(() => childOf(place, "bare-child") !== undefined, "the agent's children");
  await supervisor.kill();
  return supervisor;
}

/** The watchdog ends by itself once it has done its work. */
async function watchdogDone({ said }: Supervisor): Promise<void> {
  const pid = said.find((line) => "watchdog" in line)?.watchdog as number;
  await waitUntil(() => !isAlive(pid), "the end of the watchdog");
}

/** Without a namespace no agent is held; with one: pid-namespace.test.ts. */
const STEPS_OF_SWEEP = STEPS.filter((step) => step !== "held");

describe.each(STEPS_OF_SWEEP)("killed at %s", (step) => {
  test("the run is settled once by the watchdog and by recovery", async () => {
    await watchdogDone(await killAt(step));
    if (hasAgent(step)) expect(childOf(place, "marked-child")).toBeDefined();
    expect(livingOf(place)).toEqual([]);
    await recover();
    await expectNothingLeft(place);
    const isExitDone = at(step) >= at("ended");
    const starts = (await readExits(place)).length;
    if (step === "exit_started") expect(starts).toBe(0);
    else expect(starts).toBe(isAdmitted(step) ? 1 : 0);
    expect(outcomesOf()).toEqual(isAdmitted(step) ? [[isExitDone ? "success" : "lost"]] : []);
  });

  test("the run is settled by recovery alone when the watchdog was killed first", async () => {
    await watchdogDone(await killAt(step, { withoutWatchdog: true }));
    await recover();
    await expectNothingLeft(place);
    expect((await readExits(place)).length).toBeLessThanOrEqual(1);
    expect(outcomesOf().map((it) => it.length)).toEqual(isAdmitted(step) ? [1] : []);
  });
});

test.each(["admitted", "started", "exit_started", "ended"] as const)(
  "killed at %s, a second recovery finds nothing to do",
  async (step) => {
    await watchdogDone(await killAt(step));
    await recover();
    const [exits, journals] = [await readExits(place), readAllJournals(place)];
    expect(await recover()).toEqual([]);
    expect([await readExits(place), readAllJournals(place)]).toEqual([exits, journals]);
  },
);

describe("killed while the agent and its children work", () => {
  /** Also the one that would outlive its agent. */
  const childrenOf = ({ said }: Supervisor) => [
    ...(String(said.find((line) => "message" in line)?.message)
      .match(/\d+/g)
      ?.map(Number) ?? []),
    childOf(place, "marked-child") ?? 0,
    childOf(place, "bare-child") ?? 0,
  ];

  test("the watchdog ends them, recovery does the rest", async () => {
    const killed = await killAt("message");
    await watchdogDone(killed);
    expect(childrenOf(killed)).toHaveLength(4);
    expect(childrenOf(killed).filter(isAlive)).toEqual([]);
    await recover();
    await expectNothingLeft(place);
    expect([await readExits(place), outcomesOf()]).toEqual([["lost true"], [["lost"]]]);
  });

  test("recovery ends them when the watchdog was killed first", async () => {
    const killed = await killAt("message", { withoutWatchdog: true });
    await watchdogDone(killed);
    expect(childrenOf(killed).filter(isAlive)).toHaveLength(4);
    await recover();
    expect(childrenOf(killed).filter(isAlive)).toEqual([]);
    await expectNothingLeft(place);
    expect([await readExits(place), outcomesOf()]).toEqual([["lost true"], [["lost"]]]);
  });
});

test("a run that nobody kills leaves one terminal record and one exit", async () => {
  supervisor = await startSupervisor(place, CHILDREN, {});
  expect(await supervisor.wait("outcomes")).toEqual({ outcomes: ["success"] });
  await waitUntil(() => supervisor?.child.exitCode === 0, "the end of the supervisor");
  expect(await readExits(place)).toEqual(["success undefined"]);
  expect(outcomesOf()).toEqual([["success"]]);
  await expectNothingLeft(place);
});

test("a running agent with children is ended by the watchdog, and told as recovered", async () => {
  supervisor = await startSupervisor(place, HANGING, {});
  const { message } = await supervisor.wait("message");
  const children = String(message).match(/\d+/g)?.map(Number) ?? [];
  expect(children.filter(isAlive)).toHaveLength(2);
  expect(await recover()).toMatchObject([{ state: "running" }]);
  await supervisor.kill();
  await watchdogDone(supervisor);
  expect(children.filter(isAlive)).toEqual([]);
  expect(await leftovers(place)).toEqual([]);
  expect(await recover()).toMatchObject([
    { state: "recovered", exitDelivery: "delivered", extinction: { state: "swept" }, problems: [] },
  ]);
  expect(await readExits(place)).toEqual(["lost true"]);
});

test("two recoverers at once deliver once", async () => {
  await watchdogDone(await killAt("started"));
  const reports = (await Promise.all([recover(), recover(), recover()])).flat();
  expect(reports.filter(({ state }) => state === "recovered")).toHaveLength(1);
  expect(await readExits(place)).toEqual(["lost true"]);
  expect(outcomesOf()).toEqual([["lost"]]);
});

test("a watchdog that was killed is replaced, and the next one knows the runs", async () => {
  supervisor = await startSupervisor(place, HANGING, {});
  await supervisor.wait("message");
  const { pid } = await supervisor.wait("started");
  const first = (await supervisor.wait("watchdog")).watchdog as number;
  process.kill(first, "SIGKILL");
  const others = () => watchdogsBelow(supervisor?.child.pid ?? 0).filter((it) => it !== first);
  await waitUntil(() => others().length === 1, "another watchdog");
  const [second = 0] = others();
  await supervisor.kill();
  await waitUntil(() => !isAlive(second), "the end of the second watchdog");
  expect(isAlive(pid as number)).toBe(false);
  expect(livingOf(place)).toEqual([]);
});
