// A killed supervisor takes its agents' namespaces with it, without a watchdog; and the watchdog ends them where it has to.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recoverRuns } from "../../src/index.ts";
import type { Step } from "../../src/journal/steps.ts";
import { probePidNamespace } from "../../src/spawn/namespace-recipe.ts";
import { killAllIn, livingIn } from "../spawn/escape-support.ts";
import { leftovers, makePlace, type Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { expectNothingLeft, readExits, type Supervisor, startSupervisor, stateDirOf } from "./support.ts";

const recipe = await probePidNamespace();
const missing =
  typeof recipe === "string" ? recipe : recipe.endsWithSupervisor ? undefined : "there is no setpriv";

describe.skipIf(missing !== undefined)(
  `an agent in a PID namespace${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    let place: Place;
    let supervisor: Supervisor | undefined;
    beforeEach(async () => {
      place = await makePlace();
    });
    afterEach(async () => {
      await supervisor?.kill();
      killAllIn(place);
      await place.remove();
    });

    const ESCAPING = {
      steps: [
        { tools: [{ shell: "env -i sh -c 'setsid sleep 1000 & exit' & setsid sleep 1000 & wait %1" }] },
        { text: "up" },
        { sins: ["hang"] },
      ],
    } as const;

    test.each([
      ["without a watchdog", true],
      ["beside a watchdog", false],
    ])("ends with its supervisor, %s, with everything it started", async (_how, withoutWatchdog) => {
      const orders = { containment: "pid-namespace", haltAt: "message", withoutWatchdog } as const;
      supervisor = await startSupervisor(place, ESCAPING, orders);
      await supervisor.wait("halted");
      // The agent, and two that left it.
      expect(livingIn(place).length).toBeGreaterThanOrEqual(3);
      await supervisor.kill();
      await waitUntil(() => livingIn(place).length === 0, "the end of the namespace");
      expect(await recoverRuns({ stateDir: stateDirOf(place), env: place.env })).toMatchObject([
        { state: "recovered", exitDelivery: "delivered" },
      ]);
      expect(await readExits(place)).toEqual(["lost true"]);
      expect(await leftovers(place)).toEqual([]);
    });

    test.each([
      ["alone", true],
      ["beside a watchdog", false],
    ])(
      "held, %s, ends with its supervisor, whether or not its run is on record",
      async (_how, withoutWatchdog) => {
        const script = { steps: [{ sins: ["leave-child"], text: "done" }] } as const;
        const orders = { containment: "pid-namespace", haltAt: "held", withoutWatchdog } as const;
        supervisor = await startSupervisor(place, script, orders);
        await supervisor.wait("halted");
        expect(livingIn(place).length).toBeGreaterThanOrEqual(1);
        await supervisor.kill();
        await waitUntil(() => livingIn(place).length === 0, "the end of the namespace");
        const reports = await recoverRuns({ stateDir: stateDirOf(place), env: place.env });
        expect(await readExits(place)).toEqual(reports.map(() => "lost true"));
        expect(reports.length).toBeLessThanOrEqual(1);
        await expectNothingLeft(place);
      },
    );

    test.each<Step>(["child_started", "watched", "released", "attested", "tree_gone"])(
      "killed at %s, without a watchdog, the supervisor leaves no process",
      async (haltAt) => {
        const script = { steps: [{ sins: ["leave-child", "leave-child-session"], text: "done" }] } as const;
        const orders = { containment: "pid-namespace", haltAt, withoutWatchdog: true } as const;
        supervisor = await startSupervisor(place, script, orders);
        await supervisor.wait("halted");
        await supervisor.kill();
        await waitUntil(() => livingIn(place).length === 0, "the end of the namespace");
        expect(await recoverRuns({ stateDir: stateDirOf(place), env: place.env })).toMatchObject([
          { state: "recovered" },
        ]);
        expect(await leftovers(place)).toEqual([]);
      },
    );
  },
);
