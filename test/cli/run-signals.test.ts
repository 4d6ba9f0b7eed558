// bridle run as a process that is sent signals, and as one of two in a directory.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { DIST, killRest, livingOf } from "../journal/support.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";

let place: Place;
const children: ChildProcess[] = [];
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  killRest(place);
  await place.remove();
});

const POLITE: FakeScript = { steps: [{ text: "up" }, { sins: ["hang"] }] };
const STUBBORN: FakeScript = { ...POLITE, sins: ["ignore-signals"] };
const SILENT: FakeScript = { ...POLITE, sins: ["lie-silence"] };

const NOTE_TERM = `
import { writeFileSync } from "node:fs";
process.on("SIGTERM", () => writeFileSync(process.env.HOME + "/terminated", ""));
`;

async function bridleRun(script: FakeScript, ...flags: string[]) {
  const { binary } = await createFakeProvider({ provider: "claude", script, directory: place.home });
  const source = await readFile(binary, "utf8");
  await writeFile(binary, source.replace("\nimport ", `\n${NOTE_TERM}import `));
  const hooks = join(place.home, "hooks.yaml");
  await writeFile(
    hooks,
    "hooks_external:\n  agent_exit:\n    - hooks: [{type: command, command: ['true']}]\n",
  );
  const main = join(DIST, "cli", "main.js");
  const words = ["run", "claude", "hello", "--hooks", hooks, "--cwd", place.cwd, "--binary", binary];
  const child = spawn(process.execPath, [main, ...words, "--prove", "off", "--json", ...flags], {
    env: place.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
  const closed = once(child, "close");
  return {
    child,
    output: () => output,
    says: (text: string) => waitUntil(() => output.includes(text), `${text} in ${output}`),
    ended: () => closed.then(([code, signal]) => signal ?? code),
  };
}

test.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const)(
  "%s stops the run, which says why, and exits with 75",
  async (signal) => {
    const run = await bridleRun(POLITE);
    await run.says('"up"');
    run.child.kill(signal);
    expect(await run.ended()).toBe(75);
    expect(run.output()).toContain(`"reason":"supervisor_stopping: ${signal}"`);
    expect(livingOf(place)).toEqual([]);
  },
);

test("a second signal kills a run that does not stop, before it is sent SIGTERM", async () => {
  const run = await bridleRun(STUBBORN);
  await run.says('"up"');
  // Two that come at one moment may be one; one that comes while the program leaves ends it by itself.
  const again = setInterval(() => livingOf(place).length > 0 && run.child.kill("SIGTERM"), 50);
  expect(await run.ended().finally(() => clearInterval(again))).toBe(75);
  expect(existsSync(join(place.home, "terminated"))).toBe(false);
  expect(livingOf(place)).toEqual([]);
});

test("a signal before the prompt was handed over exits with 75", async () => {
  const run = await bridleRun(SILENT);
  await waitUntil(() => livingOf(place).length > 0, "an agent");
  run.child.kill("SIGTERM");
  expect(await run.ended()).toBe(75);
  expect(run.output()).toContain("SIGTERM before there was a result");
});

test("an exclusive run keeps a second one out, which exits with 78", async () => {
  const first = await bridleRun(POLITE, "--workspace", "exclusive");
  await first.says('"up"');
  const second = await bridleRun(POLITE);
  expect(await second.ended()).toBe(78);
  expect(second.output()).toContain('"code":"workspace_busy"');
});
