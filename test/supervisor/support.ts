// A program of its own process that uses the built library, so that it can be sent signals and can fail.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { DIST, killRest } from "../journal/support.ts";
import type { Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";

export { DIST, livingOf, readAllJournals } from "../journal/support.ts";

/** Says `up`, and then nothing more until it is stopped. */
export const POLITE: FakeScript = { steps: [{ text: "up" }, { sins: ["hang"] }] };
/** Says `up`, and ends by SIGKILL only. */
export const STUBBORN: FakeScript = { ...POLITE, sins: ["ignore-signals"] };
/** Does not answer before the prompt. */
export const SILENT: FakeScript = { ...POLITE, sins: ["lie-silence"] };
export const QUICK: FakeScript = { steps: [{ text: "done" }] };

const SCRIPTS = { polite: POLITE, stubborn: STUBBORN, silent: SILENT, quick: QUICK } as const;

const PRELUDE = `
import { writeFileSync } from "node:fs";
const { dist, cwd, home, binaries, extra } = JSON.parse(process.argv[2]);
const { compileAgentHooks, spawnAgent, createSupervisor, stopAllRuns } = await import(dist + "/index.js");
const say = (line) => writeFileSync(1, JSON.stringify(line) + "\\n");
const env = { PATH: process.env.PATH, HOME: home };
const command = (...argv) => ({ hooks: [{ type: "command", command: [process.execPath, ...argv] }] });
const noteExit = (ms) => command(home + "/note-exit.mjs", home + "/exits", String(ms));
const compile = (name, { exitMs = 0, declare = {}, by = compileAgentHooks } = {}) =>
  by(
    { agent_exit: [noteExit(exitMs)], ...declare },
    { provider: "claude", cwd, binary: binaries[name], prove: "off", env },
  );
const optionsOf = async (name, { exitMs, declare, by, ...options } = {}) => ({
  hooks: await compile(name, { exitMs, declare, by }),
  prompt: "hello", cwd, baseEnv: env, containment: "sweep", startGate: "off", ...options,
});
const watch = async (name, run) => {
  void run.result.then(({ outcome, reason }) => say({ ended: name, outcome, reason }));
  for await (const event of run) if (event.type === "message") break;
  say({ started: name, ["is_" + name]: run.id, pid: run.pid });
  return run;
};
const start = async (name, { spawner = spawnAgent, ...options } = {}) =>
  watch(name, await spawner(await optionsOf(name, options)));
const refusalOf = (starting) =>
  starting.then(() => "started", (error) => error.issues?.map(({ code }) => code).join() ?? String(error));
`;

/** Of the stubborn agent: makes `terminated` in its home when SIGTERM comes. */
const NOTE_TERM = `
import { writeFileSync } from "node:fs";
process.on("SIGTERM", () => writeFileSync(process.env.HOME + "/terminated", ""));
`;

const NOTE_EXIT = `
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { text } from "node:stream/consumers";
const { outcome, reason } = JSON.parse(await text(process.stdin));
await delay(Number(process.argv[3]));
appendFileSync(process.argv[2], outcome + " " + reason + "\\n");
`;

export interface Program {
  readonly child: ChildProcess;
  readonly said: Record<string, unknown>[];
  errors(): string;
  /** Resolves with the first line that has this field. Rejects when the program ends before. */
  wait(field: string): Promise<Record<string, unknown>>;
  /** Its exit code, or the signal that ended it. */
  ended(): Promise<number | NodeJS.Signals | null>;
}

const running: { child: ChildProcess; place: Place }[] = [];

/** Ends what a failed test left. */
export async function endPrograms(): Promise<void> {
  for (const { child, place } of running.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    killRest(place);
  }
}

let lastProgram = 0;

/** Runs JavaScript lines after the prelude above. */
export async function startProgram(
  place: Place,
  body: string,
  extra: Record<string, unknown> = {},
): Promise<Program> {
  const binaries: Record<string, string> = {};
  for (const [name, script] of Object.entries(SCRIPTS)) {
    const directory = join(place.home, "fakes");
    binaries[name] = (await createFakeProvider({ provider: "claude", script, directory, name })).binary;
  }
  const stubborn = binaries.stubborn ?? "";
  const source = await readFile(stubborn, "utf8");
  await writeFile(stubborn, source.replace("\nimport ", `\n${NOTE_TERM}import `));
  const file = join(place.home, `program-${lastProgram++}.mjs`);
  await writeFile(file, `${PRELUDE}${body}`);
  await writeFile(join(place.home, "note-exit.mjs"), NOTE_EXIT);
  const told = { dist: DIST, cwd: place.cwd, home: place.home, binaries, extra };
  const child = spawn(process.execPath, [file, JSON.stringify(told)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...place.env },
  });
  running.push({ child, place });
  const said: Record<string, unknown>[] = [];
  let rest = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    said.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>));
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  const closed = once(child, "close");
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    said,
    errors: () => errors,
    async wait(field) {
      const find = () => said.find((line) => field in line);
      await waitUntil(() => find() !== undefined || hasEnded(), `a line with ${field}`);
      const line = find();
      if (line === undefined) throw new Error(`the program ended before it said ${field}: ${errors}`);
      return line;
    },
    async ended() {
      await closed;
      return child.signalCode ?? child.exitCode;
    },
  };
}

/** `outcome reason` of each agent_exit, sorted. */
export async function readEnds(place: Place): Promise<string[]> {
  const text = await readFile(join(place.home, "exits"), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .sort();
}
