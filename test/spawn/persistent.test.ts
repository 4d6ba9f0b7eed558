// Persistent guards in runs of both CLIs' fakes: one start a run, whatever comes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import {
  compileAgentHooks,
  type HookDeclaration,
  type HookEntry,
  type Provider,
  spawnAgent,
} from "../../src/index.ts";
import type { StampedReceipt } from "../../src/receipts/receipt.ts";
import { RUN_MARKER } from "../../src/spawn/environment.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { isThere } from "../testkit/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { isAlive, makePlace, type Place } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  const left = (await starts()).filter(isAlive);
  for (const pid of left) process.kill(pid, "SIGKILL");
  await place.remove();
  expect(left).toEqual([]);
});

const starts = async () =>
  existsSync(join(place.home, "starts"))
    ? (await readFile(join(place.home, "starts"), "utf8")).trim().split("\n").map(Number)
    : [];

/** `body` has `call` and `say`. */
async function guardEntry(body: string, more: object = {}): Promise<HookEntry> {
  const path = join(place.home, "guard.mjs");
  await writeFile(
    path,
    `import { createInterface } from "node:readline";
     import { appendFileSync } from "node:fs";
     import { spawn } from "node:child_process";
     appendFileSync(${JSON.stringify(join(place.home, "starts"))}, process.pid + "\\n");
     const say = (word) => process.stdout.write(JSON.stringify(word) + "\\n");
     createInterface({ input: process.stdin }).on("line", async (line) => { const call = JSON.parse(line); ${body} });\n`,
  );
  return { type: "command", command: [process.execPath, path], persistent: true, ...more } as HookEntry;
}

async function run(provider: Provider, script: FakeScript, declaration: HookDeclaration) {
  const { binary } = await createFakeProvider({ provider, script, directory: join(place.home, "fakes") });
  const hooks = await compileAgentHooks(declaration, { provider, cwd: place.cwd, binary, prove: "off" });
  const receipts: StampedReceipt[] = [];
  const agent = await spawnAgent({
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: (line) => void receipts.push(line),
  });
  const result = await agent.result;
  return { result, receipts, told: receipts.filter((line) => line.kind === "hook"), hooks };
}

describe.each(["claude", "codex"] as const)("under %s", (provider) => {
  test("20 calls, some at the same time, are one start, and the process is gone by agent_exit", async () => {
    const guard = await guardEntry(
      "const { command = '' } = call.envelope.tool_input; say({ id: call.id, ...(command.includes('no') ? { block: 'not ' + command } : {}) });",
    );
    const steps = Array.from({ length: 10 }, (_, n) => ({
      tools: [{ shell: `touch yes-${n}` }, { shell: `touch no-${n}` }],
    }));
    let atExit: boolean[] = [];
    const look = async () => {
      atExit = (await starts()).map(isAlive);
      return undefined;
    };
    const { result, told, hooks } = await run(
      provider,
      { steps: [...steps, { text: "done" }] },
      { PreToolUse: [{ hooks: [guard] }], agent_exit: [{ hooks: [{ type: "function", handler: look }] }] },
    );
    expect(result).toMatchObject({ outcome: "success", hooks: { denied: 10 } });
    const asked = told.filter(({ event }) => event === "PreToolUse");
    expect(asked).toHaveLength(20);
    expect(new Set(asked.map(({ exit }) => exit))).toEqual(new Set(["answered"]));
    for (const [n] of steps.entries())
      expect([isThere(place, `yes-${n}`), isThere(place, `no-${n}`)]).toEqual([true, false]);
    expect(await starts()).toHaveLength(1);
    expect(atExit).toEqual([false]);
    expect(hooks.describe().hooks[0]).toMatchObject({ persistent: true });
  });

  test("one that crashes denies that call, and the next one is asked of a new process", async () => {
    const guard = await guardEntry(
      "if (call.envelope.tool_input.command.includes('one')) { console.error('pl4nted reason'); process.exit(0); } say({ id: call.id });",
    );
    const { result, told } = await run(
      provider,
      { steps: [{ tools: [{ shell: "touch one" }] }, { tools: [{ shell: "touch two" }] }, { text: "done" }] },
      { PreToolUse: [{ hooks: [guard] }] },
    );
    expect(result.outcome).toBe("success");
    expect([isThere(place, "one"), isThere(place, "two")]).toEqual([false, true]);
    expect(told).toMatchObject([
      {
        exit: "failed",
        failed: true,
        decision: "deny",
        notes: [{ detail: expect.stringContaining("pl4nted") }],
      },
      { exit: "answered", failed: false, notes: [{ code: "guard_restarted" }] },
    ]);
    expect(await starts()).toHaveLength(2);
  });

  test("whose file is changed denies and ends the run, although its process was started from the right one", async () => {
    const path = join(place.home, "guard.mjs");
    const guard = await guardEntry(
      `appendFileSync(${JSON.stringify(path)}, "// changed\\n"); say({ id: call.id });`,
    );
    const { result } = await run(
      provider,
      { steps: [{ tools: [{ shell: "touch one" }] }, { tools: [{ shell: "touch two" }] }, { text: "done" }] },
      { PreToolUse: [{ hooks: [guard] }] },
    );
    expect(result).toMatchObject({
      outcome: "unenforced",
      reason: expect.stringContaining("command_changed"),
    });
    expect([isThere(place, "one"), isThere(place, "two")]).toEqual([true, false]);
  });
});

test("is not ended with the agent's tree: events at its end are answered", async () => {
  const guard = await guardEntry(
    "await new Promise((resolve) => setTimeout(resolve, 700)); say({ id: call.id });",
  );
  const { receipts, told } = await run(
    "claude",
    { steps: [{ text: "x" }] },
    { SessionEnd: [{ hooks: [guard] }] },
  );
  expect(told).toMatchObject([{ event: "SessionEnd", exit: "answered", failed: false }]);
  expect(receipts.filter(({ kind }) => kind === "warning")).toEqual([]);
});

test("what it leaves at the end of the run is ended and told", async () => {
  const guard = await guardEntry(
    "spawn('/bin/sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref(); say({ id: call.id });",
  );
  const { receipts } = await run(
    "claude",
    { steps: [{ tools: [{ shell: "touch one" }] }] },
    { PreToolUse: [{ hooks: [guard] }] },
  );
  expect(receipts.filter(({ kind }) => kind === "warning")).toMatchObject([
    {
      code: "guard_leftovers",
      message: expect.stringContaining("PreToolUse[0].hooks[0] had left 1 process(es)"),
    },
  ]);
});

test("gets {run_dir} and env:NAME, and a marker by which it is found", async () => {
  const guard = await guardEntry(
    `appendFileSync(process.argv[3], JSON.stringify({ argv: process.argv, env: process.env, cwd: process.cwd() })); say({ id: call.id });`,
  );
  const seen = join(place.home, "seen");
  const more = {
    command: [...(guard as { command: string[] }).command, "{run_dir}", seen],
    env: { A: "env:NAMED" },
  };
  place.env.NAMED = "value of it";
  process.env.NAMED = "value of it";
  const { result } = await run(
    "claude",
    { steps: [{ tools: [{ shell: "touch one" }] }] },
    { PreToolUse: [{ hooks: [{ ...guard, ...more } as HookEntry] }] },
  );
  delete process.env.NAMED;
  const { argv, env, cwd } = JSON.parse(await readFile(seen, "utf8"));
  expect(argv[2]).toMatch(new RegExp(`/${result.runId}$`));
  expect(cwd).toBe(place.cwd);
  expect(env).toMatchObject({ A: "value of it", BRIDLE_RUN_ID: result.runId });
  expect(env[RUN_MARKER].split(":").at(-1)).toBe(`${result.runId}.guards`);
});

/** Compiles and starts one run of the built sources, and says when its guard was asked. */
const SUPERVISOR = `
const { dist, binary, cwd, guard } = JSON.parse(process.argv[2]);
const { compileAgentHooks, spawnAgent } = await import(dist + "/index.js");
const hooks = await compileAgentHooks({ PreToolUse: [{ hooks: [guard] }] }, { provider: "claude", cwd, binary, prove: "off" });
const run = await spawnAgent({ hooks, prompt: "hello", cwd, containment: "sweep" });
for await (const event of run) if (event.event === "PreToolUse") process.stdout.write("asked\\n");
`;

test.skipIf(process.platform !== "linux")(
  "one that ignores the end of its stdin does not outlive a supervisor that was killed",
  async () => {
    const guard = await guardEntry(
      "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); say({ id: call.id });",
    );
    const script: FakeScript = { steps: [{ tools: [{ shell: "touch one" }] }, { sins: ["hang"] }] };
    const { binary } = await createFakeProvider({
      provider: "claude",
      script,
      directory: join(place.home, "fakes"),
    });
    const program = join(place.home, "supervisor.mjs");
    await writeFile(program, SUPERVISOR);
    const orders = { dist: inject("dist"), binary, cwd: place.cwd, guard };
    const supervisor = spawn(process.execPath, [program, JSON.stringify(orders)], {
      stdio: ["ignore", "pipe", "inherit"],
      env: place.env,
    });
    await once(supervisor.stdout, "data");
    const [pid = 0] = await starts();
    expect(isAlive(pid)).toBe(true);
    supervisor.kill("SIGKILL");
    await once(supervisor, "exit");
    await waitUntil(() => !isAlive(pid), "the end of the guard");
  },
);
