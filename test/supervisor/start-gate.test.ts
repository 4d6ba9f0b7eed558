// Starts that share a home take turns: within a program, between programs, and never for ever.

import { mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import lockfile from "proper-lockfile";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentHooksRefused, type Provider, type SpawnOptions, spawnAgent } from "../../src/index.ts";
import { type GateOptions, passStartGate } from "../../src/supervisor/start-gate.ts";
import { stateDirOf } from "../journal/support.ts";
import { leftovers, makePlace, type Place } from "../spawn/support.ts";
import { compileFake } from "../testkit/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { endPrograms, QUICK, startProgram } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  await endPrograms();
  await place.remove();
});

const gate = (options: Partial<GateOptions> = {}): GateOptions => ({
  gate: "auto",
  provider: "claude",
  configHome: "user",
  env: place.env,
  providerHome: join(place.home, "provider"),
  stateDir: stateDirOf(place),
  waitMs: 20_000,
  signal: new AbortController().signal,
  onOpen: (why) => {
    throw new Error(why);
  },
  ...options,
});

/** Starts that are under way at a time, at most, and in which order they began. */
function observe() {
  const order: number[] = [];
  let now = 0;
  const seen = { most: 0, order };
  const start = (id: number) => async () => {
    order.push(id);
    now += 1;
    seen.most = Math.max(seen.most, now);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    return id;
  };
  return { seen, start };
}

/** A start that ends when so many have begun: never, when they take turns. */
function meet(count: number) {
  let begun = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    begun += 1;
    if (begun === count) open();
    return all;
  };
}

const login = async (name: string) => {
  const providerHome = join(place.home, name);
  await mkdir(providerHome);
  await writeFile(join(providerHome, "auth.json"), "{}");
  return providerHome;
};

/** Holds a gate as another program would. A start shows where its lock is. */
async function holdGate(options: Partial<GateOptions> = {}): Promise<() => Promise<void>> {
  let name = "";
  await passStartGate(gate(options), async () => {
    [name = ""] = await readdir(join(stateDirOf(place), "starts"));
  });
  const path = join(stateDirOf(place), "starts", name.replace(/\.lock$/, ""));
  return lockfile.lock(path, { realpath: false });
}

describe("starts", () => {
  test("of one claude home take turns, in the order they came", async () => {
    const { seen, start } = observe();
    await Promise.all([0, 1, 2, 3].map((id) => passStartGate(gate(), start(id))));
    expect(seen).toEqual({ most: 1, order: [0, 1, 2, 3] });
  });

  test("of one codex login take turns", async () => {
    const { seen, start } = observe();
    const options = gate({ provider: "codex", providerHome: await login("codex") });
    await Promise.all([0, 1, 2].map((id) => passStartGate(options, start(id))));
    expect(seen.most).toBe(1);
  });

  test.each<[string, () => GateOptions]>([
    ["with homes of their own", () => gate({ configHome: "run" })],
    ["of codex without a login", () => gate({ provider: "codex" })],
    ["that say off", () => gate({ gate: "off" })],
  ])("%s do not wait for each other", async (_, options) => {
    const [chosen, start] = [options(), meet(3)];
    await Promise.all([0, 1, 2].map(() => passStartGate(chosen, start)));
  });

  test("of different homes do not wait for each other", async () => {
    const start = meet(2);
    const homes = ["one", "other"].map((name) => gate({ env: { HOME: join(place.home, name) } }));
    await Promise.all(homes.map((options) => passStartGate(options, start)));
  });

  test("that are aborted while another is under way do not wait for its end", async () => {
    const controller = new AbortController();
    let end: (() => void) | undefined;
    const under = passStartGate(
      gate(),
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    await waitUntil(() => end !== undefined, "the first start");
    const waiting = passStartGate(gate({ signal: controller.signal }), async () => {});
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    end?.();
    await under;
  });

  test("go on after one that failed, and one that was aborted while it waited", async () => {
    const { seen, start } = observe();
    const controller = new AbortController();
    const failing = passStartGate(gate(), async () => {
      throw new Error("no");
    });
    const aborted = passStartGate(gate({ signal: controller.signal }), start(1));
    const last = passStartGate(gate(), start(2));
    controller.abort(new Error("enough"));
    expect(await Promise.allSettled([failing, aborted, last])).toMatchObject([
      { reason: { message: "no" } },
      { reason: { message: "enough" } },
      { value: 2 },
    ]);
    expect(seen.order).toEqual([2]);
  });
});

describe("a gate that another program holds", () => {
  test("is waited for, and refuses when the time is over", async () => {
    const release = await holdGate();
    const error = await passStartGate(gate({ waitMs: 30 }), async () => {}).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(AgentHooksRefused);
    expect((error as AgentHooksRefused).issues).toMatchObject([
      { code: "config_home_busy", message: expect.stringContaining(join(place.home, ".claude")) },
    ]);
    const waiting = passStartGate(gate(), async () => "through");
    await release();
    expect(await waiting).toBe("through");
  });

  test("is left by an aborted start", async () => {
    const release = await holdGate();
    const controller = new AbortController();
    const waiting = passStartGate(gate({ signal: controller.signal }), async () => {});
    setImmediate(() => controller.abort(new Error("enough")));
    await expect(waiting).rejects.toThrow("enough");
    await release();
  });

  test("is held by one start at a time, of all of them", async () => {
    const body = `
      const { passStartGate } = await import(dist + "/supervisor/start-gate.js");
      const { appendFileSync, existsSync } = await import("node:fs");
      const options = {
        gate: "auto", provider: "claude", configHome: "user", env, providerHome: home, waitMs: 20_000,
        stateDir: home + "/.local/state/bridle", signal: new AbortController().signal, onOpen: () => say({ open: true }),
      };
      say({ ready: true });
      while (!existsSync(home + "/go")) await new Promise(setImmediate);
      await Promise.all([1, 2, 3].map(() => passStartGate(options, async () => {
        appendFileSync(home + "/turns", "in " + process.pid + "\\n");
        await new Promise((resolve) => setTimeout(resolve, 30));
        appendFileSync(home + "/turns", "out " + process.pid + "\\n");
      })));
    `;
    const programs = await Promise.all([1, 2].map(() => startProgram(place, body)));
    await Promise.all(programs.map((program) => program.wait("ready")));
    await writeFile(join(place.home, "go"), "");
    for (const program of programs) expect(await program.ended()).toBe(0);
    const turns = (await readFileLines(join(place.home, "turns"))).map((line) => line.split(" "));
    expect(turns).toHaveLength(12);
    for (let at = 0; at < turns.length; at += 2)
      expect(turns.slice(at, at + 2)).toEqual([
        ["in", turns[at]?.[1]],
        ["out", turns[at]?.[1]],
      ]);
    expect(programs.flatMap(({ said }) => said).filter((line) => "open" in line)).toEqual([]);
  });
});

describe("a run", () => {
  const exits: string[] = [];
  beforeEach(() => void exits.splice(0));
  const start = async (options: Partial<SpawnOptions>, provider: Provider = "claude") =>
    spawnAgent({
      hooks: await compileFake(place, { provider, script: QUICK }, exits),
      prompt: "hello",
      cwd: place.cwd,
      baseEnv: place.env,
      receiptSink: () => {},
      ...options,
    });

  test("whose start is not let through is refused, with agent_exit, and nothing is left", async () => {
    const release = await holdGate();
    const error = await start({ deadlines: { attestMs: 50 } }).catch((reason: unknown) => reason);
    expect((error as AgentHooksRefused).issues).toMatchObject([{ code: "config_home_busy" }]);
    expect([exits, await leftovers(place)]).toEqual([["refused"], []]);
    const passing = await start({ startGate: "off" });
    expect((await passing.result).outcome).toBe("success");
    await release();
  });

  test("goes on where the gate cannot be made, and says so", async () => {
    await mkdir(stateDirOf(place), { recursive: true });
    await writeFile(join(stateDirOf(place), "starts"), "in the way");
    const { outcome, warnings } = await (await start({})).result;
    expect(outcome).toBe("success");
    expect(warnings).toContainEqual(expect.objectContaining({ code: "start_gate_unavailable" }));
  });

  test("of codex passes the gate of the login that it is lent", async () => {
    await mkdir(join(place.home, ".codex"));
    await writeFile(join(place.home, ".codex", "auth.json"), "{}");
    const providerHome = await realpath(join(place.home, ".codex"));
    const release = await holdGate({ provider: "codex", providerHome });
    const error = await start({ deadlines: { attestMs: 50 } }, "codex").catch((reason: unknown) => reason);
    expect((error as AgentHooksRefused).issues).toMatchObject([{ code: "config_home_busy" }]);
    await release();
  });
});

async function readFileLines(path: string): Promise<string[]> {
  return (await readFile(path, "utf8")).trimEnd().split("\n");
}
