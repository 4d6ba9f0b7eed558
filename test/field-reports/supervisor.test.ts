// Reports of what becomes of the program that supervises: it is a program of its own here, started from the sources as they are built.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startTimeOf } from "../../src/exec/sweep.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { DIST, readAllJournals } from "../journal/support.ts";
import { livingIn } from "../spawn/escape-support.ts";
import { isAlive, leftovers } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { placeOfEachTest } from "./support.ts";

const at = placeOfEachTest();
const programs: ChildProcess[] = [];
afterEach(() => {
  for (const program of programs.splice(0)) program.kill("SIGKILL");
});

/** Appends the outcome of each `agent_exit` to `exits`, and says `settled OUTCOME` and `still here` in the file `said`. */
const PROGRAM = `
import { appendFileSync } from "node:fs";
const { dist, binary, cwd, home, runs, options, abortAtMessage } = JSON.parse(process.argv[2]);
const { compileAgentHooks, spawnAgent } = await import(dist + "/index.js");
const say = (line) => appendFileSync(home + "/said", line + "\\n");
const env = { PATH: process.env.PATH, HOME: home };
const note = "outcome=$(sed -n 's/.*\\"outcome\\":\\"\\\\([a-z_]*\\\\)\\".*/\\\\1/p'); echo $outcome >>" + home + "/exits";
const hooks = await compileAgentHooks(
  { agent_exit: [{ hooks: [{ type: "command", command: ["/bin/sh", "-c", note] }] }] },
  { provider: "claude", cwd, binary, prove: "off" },
);
const abort = new AbortController();
const all = Array.from({ length: runs }, async () => {
  const run = await spawnAgent({ hooks, prompt: "hello", cwd, baseEnv: env, signal: abort.signal, ...options });
  for await (const event of run) {
    if (event.type !== "message") continue;
    say("message " + run.pid);
    if (abortAtMessage) abort.abort();
  }
  say("settled " + (await run.result).outcome);
});
await Promise.all(all);
setTimeout(() => say("still here"), 0);
`;

const HANGING: FakeScript = {
  steps: [{ text: "up" }, { tools: [{ shell: "setsid sleep 1000 & sleep 1000" }] }],
};

async function startProgram(orders: object): Promise<ChildProcess> {
  const { place } = at;
  const { binary } = await createFakeProvider({
    provider: "claude",
    script: HANGING,
    directory: join(place.home, "fakes"),
  });
  const program = join(place.home, "program.mjs");
  writeFileSync(program, PROGRAM);
  const all = { dist: DIST, binary, cwd: place.cwd, home: place.home, runs: 1, options: {}, ...orders };
  const child = spawn(process.execPath, [program, JSON.stringify(all)], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...place.env },
    // As below a shell: a group of its own, that a terminal could hang up.
    detached: true,
  });
  programs.push(child);
  return child;
}

const linesOf = (name: string) =>
  readFile(join(at.place.home, name), "utf8").then(
    (text) => text.split("\n").filter((line) => line !== ""),
    () => [],
  );

test("field report 3: SIGHUP to the supervising program stops its runs, and each tells agent_exit once", async () => {
  const { place } = at;
  const program = await startProgram({ runs: 3 });
  const ended = once(program, "exit");
  await waitUntil(async () => (await linesOf("said")).length === 3, "three runs");
  const agents = (await linesOf("said")).map((line) => Number(line.split(" ")[1]));
  await waitUntil(() => livingIn(place).length > 6, "their tools");
  expect(agents.filter(isAlive)).toHaveLength(3);
  process.kill(program.pid as number, "SIGHUP");
  await ended;
  expect(livingIn(place)).toEqual([]);
  expect(await linesOf("exits")).toEqual(["interrupted", "interrupted", "interrupted"]);
  expect(await leftovers(place)).toEqual([]);
  const ends = readAllJournals(place).map((lines) => lines.filter(({ type }) => type === "ended"));
  expect(ends.map((lines) => lines.map(({ outcome }) => outcome))).toEqual(Array(3).fill(["interrupted"]));
});

test.each(["sweep", "auto"] as const)(
  "field report 5: an abort under bypassPermissions ends the agent and not the supervising program (%s)",
  async (containment) => {
    const { place } = at;
    const program = await startProgram({
      abortAtMessage: true,
      options: { permissionMode: "bypassPermissions", containment, deadlines: { stopMs: 400 } },
    });
    const startTime = startTimeOf(program.pid as number);
    const [code, signal] = await once(program, "exit");
    expect({ code, signal, startTime }).toEqual({ code: 0, signal: null, startTime: expect.any(String) });
    const said = await linesOf("said");
    expect(said.slice(1)).toEqual(["settled interrupted", "still here"]);
    expect(livingIn(place)).toEqual([]);
    expect(readFileSync(join(place.home, "exits"), "utf8")).toBe("interrupted\n");
  },
);
