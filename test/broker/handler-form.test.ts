import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Broker, startBroker } from "../../src/broker/broker.ts";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { handlerCommand } from "../../src/render/handler-form.ts";
import { LOGIN_SHELLS, SHELLS } from "./shells.ts";
import {
  endSleepers,
  makeRunDirectory,
  makeScratch,
  removeScratch,
  start,
  until,
  waitingShims,
} from "./support.ts";

let scratch: string;
let directory: RunDirectory;
beforeEach(async () => {
  scratch = await makeScratch();
  directory = await makeRunDirectory(scratch);
});
afterEach(() => removeScratch(scratch));

/** Each form under the shells it may meet: one reads the shim with whatever /bin/sh is, the other is read by the user's own shell. */
const FORMS = [
  ...SHELLS.map((shell) => ({ ...shell, startsShell: false })),
  ...[...SHELLS, ...LOGIN_SHELLS].map((shell) => ({ ...shell, startsShell: true })),
];

const form = (isGate: boolean, startsShell: boolean) =>
  handlerCommand({
    shimPath: directory.shimPath,
    event: isGate ? "PreToolUse" : "Stop",
    shimSeconds: 20,
    gate: isGate,
    startsShell,
  });

async function listen(code: 0 | 2, onCall: () => void = () => {}, hold = false): Promise<Broker> {
  return startBroker({
    runDirectory: directory,
    events: ["PreToolUse", "Stop"],
    answer: async () => {
      onCall();
      if (hold) await new Promise(() => {});
      return { code, stdout: '{"x":1}', stderr: code === 2 ? "because" : "" };
    },
    deadlineMs: () => 10_000,
    isGate: (event) => event === "PreToolUse",
    onFault: () => {},
  });
}

const losses: Record<string, () => Promise<unknown>> = {
  "the shim is deleted": () => rm(directory.shimPath),
  "the shim is a directory": async () => {
    await rm(directory.shimPath);
    await mkdir(directory.shimPath);
  },
  "the shim is empty": async () => {
    await rm(directory.shimPath);
    await writeFile(directory.shimPath, "");
  },
  "the shim is rubbish": async () => {
    await rm(directory.shimPath);
    await writeFile(directory.shimPath, "if then (\n");
  },
  "the shim is cut in two": async () => {
    const text = await readFile(directory.shimPath, "utf8");
    await rm(directory.shimPath);
    await writeFile(directory.shimPath, text.slice(0, text.length / 2));
  },
  "the shim is full of other bytes": async () => {
    await rm(directory.shimPath);
    await writeFile(directory.shimPath, Buffer.from([0, 1, 40, 255, 10, 39, 34, 0]));
  },
  "the shim is a link to nowhere": async () => {
    await rm(directory.shimPath);
    await symlink(join(scratch, "nowhere"), directory.shimPath);
  },
  "the run directory is deleted": () => rm(directory.path, { recursive: true }),
};

describe.each(FORMS)("run by $name, starting a shell: $startsShell", ({ argv, present, startsShell }) => {
  const test = it.skipIf(!present);
  const call = (isGate: boolean) => start([...argv, "-c", form(isGate, startsShell)], "{}");

  test("an answer passes unchanged through the gate's form", async () => {
    const allowing = await listen(0);
    expect(await call(true).result).toEqual({
      code: 0,
      signal: null,
      stdout: '{"x":1}\n',
      stderr: "",
    });
    await allowing.close();
    const denying = await listen(2);
    expect(await call(true).result).toEqual({
      code: 2,
      signal: null,
      stdout: '{"x":1}\n',
      stderr: "because\n",
    });
    await denying.close();
  });

  test("an answer on another event is always exit 0, with its JSON", async () => {
    const broker = await listen(2);
    expect(await call(false).result).toMatchObject({ code: 0, stdout: '{"x":1}\n' });
    await broker.close();
  });

  test.each(Object.keys(losses))("a gate is denied with a text when %s", async (name) => {
    await losses[name]?.();
    const { code, stderr } = await call(true).result;
    expect(code).toBe(2);
    // A shell that was started for the shim may end with 2 by itself, and then it has said why.
    if (startsShell) expect(stderr.trim()).not.toBe("");
    else expect(stderr).toContain("bridle: guard failed; denied\n");
  });

  test.each(Object.keys(losses))("another event exits 0 when %s", async (name) => {
    await losses[name]?.();
    expect(await call(false).result).toMatchObject({ code: 0, stdout: "" });
  });

  test.each([
    [true, "SIGKILL"],
    [true, "SIGTERM"],
    [false, "SIGKILL"],
    [false, "SIGTERM"],
  ] as const)(
    "gate %s: a shim ended by %s while it waits is a fault of that kind",
    async (isGate, signal) => {
      let waits = false;
      const broker = await listen(
        0,
        () => {
          waits = true;
        },
        true,
      );
      const made = call(isGate);
      await until("it waits", () => waits);
      const [shim] = await waitingShims(directory);
      if (shim === undefined) throw new Error("no shim found");
      process.kill(shim, signal);
      await endSleepers(directory);
      const { code, stderr } = await made.result;
      expect(code).toBe(isGate ? 2 : 0);
      if (isGate) expect(stderr).toContain("denied");
      await broker.close();
    },
  );
});

describe("the form", () => {
  it.each([
    ["a quote in the path", { shimPath: "/a'b" }],
    ["a line break in the path", { shimPath: "/a\nb" }],
    ["a relative path", { shimPath: "s/shim" }],
    ["a fraction of a second", { shimSeconds: 1.5 }],
    ["no time at all", { shimSeconds: 0 }],
    ["an event that is no name", { event: "Stop; rm" }],
  ])("cannot be made with %s", (_name, wrong) => {
    expect(() =>
      handlerCommand({ shimPath: "/s", event: "Stop", shimSeconds: 1, gate: true, ...wrong }),
    ).toThrow(TypeError);
  });
});
