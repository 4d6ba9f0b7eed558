// When recovery runs agent_exit, how, and when never again.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AgentHooksRefused } from "../../src/index.ts";
import * as fakes from "../testkit/support.ts";
import {
  admittedLine,
  commandHook,
  EXIT_STARTED,
  goneSupervisor,
  lostRunsOfEachTest,
  readTold,
  writeJournal,
} from "./lost-run.ts";
import { journalsOf } from "./support.ts";

const lost = lostRunsOfEachTest();
const { recover } = lost;
const endedLines = () => readFileSync(join(journalsOf(lost.place), "ended", "r1.jsonl"), "utf8");

describe("agent_exit", () => {
  test("is told that the run was lost, and that this is a recovery", async () => {
    await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1", { exitChain: [await commandHook(lost.place)] }),
    ]);
    expect(await recover()).toMatchObject([
      { exitDelivery: "delivered", hooks: [{ exit: { kind: "exit", code: 0 }, failed: false }] },
    ]);
    expect(await readTold(lost.place)).toMatchObject([
      { hook_event_name: "agent_exit", run_id: "r1", outcome: "lost", recovered: true, exit_code: null },
    ]);
  });

  test("is not run again once it was started, and the end says that nobody knows", async () => {
    const exitChain = [await commandHook(lost.place)];
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { exitChain }), EXIT_STARTED]);
    expect(await recover()).toMatchObject([{ state: "recovered", exitDelivery: "unknown" }]);
    expect(await readTold(lost.place)).toEqual([]);
    expect(endedLines()).toContain('"exitDelivery":"unknown"');
  });

  test("is written down as started before its hooks run", async () => {
    const hook = await commandHook(lost.place);
    const journal = join(journalsOf(lost.place), "r1.jsonl");
    const program = hook.argv?.[0] as string;
    writeFileSync(program, `#!/bin/sh\ncp '${journal}' '${lost.place.home}/seen'\n`);
    const again = await commandHook(lost.place);
    writeFileSync(program, `#!/bin/sh\ncp '${journal}' '${lost.place.home}/seen'\n`);
    const files = [{ ...(await (await import("../../src/trust/identity.ts")).identifyFile(program)) }];
    await writeJournal(lost.place, "r1", [
      admittedLine(lost.place, "r1", { exitChain: [{ ...again, files }] }),
    ]);
    await recover();
    expect(readFileSync(join(lost.place.home, "seen"), "utf8")).toContain("exit_started");
  });

  test("does not run a program that changed, and says so", async () => {
    const hook = await commandHook(lost.place);
    writeFileSync(hook.argv?.[0] as string, "#!/bin/sh\ntouch ran\n");
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { exitChain: [hook] })]);
    expect(await recover()).toMatchObject([
      { state: "recovered", hooks: [{ failed: true }], problems: [expect.stringContaining("other bytes")] },
    ]);
    expect(existsSync(join(lost.place.cwd, "ran"))).toBe(false);
  });

  test("waits for the values of its variables, which are not kept", async () => {
    const exitChain = [await commandHook(lost.place, { envNames: ["TOKEN"] })];
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { exitChain })]);
    expect(await recover()).toMatchObject([
      { state: "open", exitDelivery: "undeliverable", problems: [expect.stringContaining("TOKEN")] },
    ]);
    expect(await readTold(lost.place)).toEqual([]);
    expect(await recover({ env: { ...lost.place.env, TOKEN: "value" } })).toMatchObject([
      { exitDelivery: "delivered" },
    ]);
    expect(readFileSync(join(lost.place.home, "token"), "utf8")).toBe("value\n");
  });

  test("that cannot be delivered is closed when asked, and never delivered after that", async () => {
    const exitChain = [await commandHook(lost.place, { argv: null })];
    await writeJournal(lost.place, "r1", [admittedLine(lost.place, "r1", { exitChain })]);
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
    const { result } = await fakes.play(lost.place, what);
    const ended = join(journalsOf(lost.place), "ended", `${result.runId}.jsonl`);
    const [admitted = ""] = readFileSync(ended, "utf8").split("\n");
    const orphan = { ...JSON.parse(admitted), supervisor: goneSupervisor() };
    writeFileSync(ended, `${JSON.stringify(orphan)}\n`);
    await rename(ended, join(journalsOf(lost.place), `${result.runId}.jsonl`));
    return { hooks: await fakes.compileFake(lost.place, what), runId: result.runId };
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
    const hooks = await fakes.compileFake(lost.place, {
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
