// When recovery runs agent_exit, how, and when never again.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentHooksRefused, type RecoverOptions, recoverRuns } from "../../src/index.ts";
import type { JournalLine } from "../../src/journal/record.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";
import { admittedLine, commandHook, goneSupervisor, readTold, startStray, writeJournal } from "./lost-run.ts";
import { journalsOf, stateDirOf } from "./support.ts";

let place: Place;
const strays: { child: { kill(signal: "SIGKILL"): boolean } }[] = [];
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  for (const { child } of strays.splice(0)) child.kill("SIGKILL");
  await place.remove();
});

const recover = (options: RecoverOptions = {}) =>
  recoverRuns({ stateDir: stateDirOf(place), env: place.env, ...options });
const _stray = async (
  ...given: Parameters<typeof startStray> extends [unknown, ...infer Rest] ? Rest : never
) => {
  const started = await startStray(place, ...given);
  strays.push(started);
  return started;
};
const endedLines = () => readFileSync(join(journalsOf(place), "ended", "r1.jsonl"), "utf8");
const EXIT_STARTED: JournalLine = { type: "exit_started", at: new Date().toISOString(), by: "supervisor" };

describe("agent_exit", () => {
  test("is told that the run was lost, and that this is a recovery", async () => {
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain: [await commandHook(place)] })]);
    expect(await recover()).toMatchObject([
      { exitDelivery: "delivered", hooks: [{ exit: { kind: "exit", code: 0 }, failed: false }] },
    ]);
    expect(await readTold(place)).toMatchObject([
      { hook_event_name: "agent_exit", run_id: "r1", outcome: "lost", recovered: true, exit_code: null },
    ]);
  });

  test("is not run again once it was started, and the end says that nobody knows", async () => {
    const exitChain = [await commandHook(place)];
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain }), EXIT_STARTED]);
    expect(await recover()).toMatchObject([{ state: "recovered", exitDelivery: "unknown" }]);
    expect(await readTold(place)).toEqual([]);
    expect(endedLines()).toContain('"exitDelivery":"unknown"');
  });

  test("is written down as started before its hooks run", async () => {
    const hook = await commandHook(place);
    const journal = join(journalsOf(place), "r1.jsonl");
    const program = hook.argv?.[0] as string;
    writeFileSync(program, `#!/bin/sh\ncp '${journal}' '${place.home}/seen'\n`);
    const again = await commandHook(place);
    writeFileSync(program, `#!/bin/sh\ncp '${journal}' '${place.home}/seen'\n`);
    const files = [{ ...(await (await import("../../src/trust/identity.ts")).identifyFile(program)) }];
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain: [{ ...again, files }] })]);
    await recover();
    expect(readFileSync(join(place.home, "seen"), "utf8")).toContain("exit_started");
  });

  test("does not run a program that changed, and says so", async () => {
    const hook = await commandHook(place);
    writeFileSync(hook.argv?.[0] as string, "#!/bin/sh\ntouch ran\n");
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain: [hook] })]);
    expect(await recover()).toMatchObject([
      { state: "recovered", hooks: [{ failed: true }], problems: [expect.stringContaining("other bytes")] },
    ]);
    expect(existsSync(join(place.cwd, "ran"))).toBe(false);
  });

  test("waits for the values of its variables, which are not kept", async () => {
    const exitChain = [await commandHook(place, { envNames: ["TOKEN"] })];
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain })]);
    expect(await recover()).toMatchObject([
      { state: "open", exitDelivery: "undeliverable", problems: [expect.stringContaining("TOKEN")] },
    ]);
    expect(await readTold(place)).toEqual([]);
    expect(await recover({ env: { ...place.env, TOKEN: "value" } })).toMatchObject([
      { exitDelivery: "delivered" },
    ]);
    expect(readFileSync(join(place.home, "token"), "utf8")).toBe("value\n");
  });

  test("that cannot be delivered is closed when asked, and never delivered after that", async () => {
    const exitChain = [await commandHook(place, { argv: null })];
    await writeJournal(place, "r1", [admittedLine(place, "r1", { exitChain })]);
    expect(await recover({ closeUndeliverable: true })).toMatchObject([
      { state: "recovered", exitDelivery: "undeliverable" },
    ]);
    expect(await recover()).toEqual([]);
  });

  test("refuses a token that is none", async () => {
    await expect(recover({ hooks: {} as never })).rejects.toThrow(AgentHooksRefused);
  });
});

describe("agent_exit functions", () => {
  /** A property would give its function a name. */
  const unnamed = (handler: fakes.Handler) => handler;

  /** The journal of a real run with this handler, put back as if its supervisor had died. */
  async function loseRun(handler: fakes.Handler) {
    const what = {
      provider: "claude",
      script: { steps: [{ text: "x" }] },
      handlers: { agent_exit: handler },
    } as const;
    const { result } = await fakes.play(place, what);
    const ended = join(journalsOf(place), "ended", `${result.runId}.jsonl`);
    const [admitted = ""] = readFileSync(ended, "utf8").split("\n");
    const lost = { ...JSON.parse(admitted), supervisor: goneSupervisor() };
    writeFileSync(ended, `${JSON.stringify(lost)}\n`);
    await rename(ended, join(journalsOf(place), `${result.runId}.jsonl`));
    return { hooks: await fakes.compileFake(place, what), runId: result.runId };
  }

  test("are delivered through a token with the same function, once", async () => {
    const told: unknown[] = [];
    const { hooks } = await loseRun(({ outcome, recovered }) => void told.push([outcome, recovered]));
    expect(await recover()).toMatchObject([{ state: "open", exitDelivery: "undeliverable" }]);
    expect(await recover({ hooks })).toMatchObject([{ state: "recovered", exitDelivery: "delivered" }]);
    expect(await recover({ hooks })).toEqual([]);
    expect(told).toEqual([
      ["success", undefined],
      ["lost", true],
    ]);
  });

  test("of another source are not taken for the same", async () => {
    const { runId } = await loseRun(() => undefined);
    let isCalled = false;
    const hooks = await fakes.compileFake(place, {
      provider: "claude",
      script: { steps: [] },
      handlers: {
        agent_exit: unnamed(() => {
          isCalled = true;
        }),
      },
    });
    expect(await recover({ hooks })).toMatchObject([
      {
        runId,
        state: "open",
        exitDelivery: "undeliverable",
        problems: [expect.stringContaining("function")],
      },
    ]);
    expect(isCalled).toBe(false);
  });
});
