import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Broker, startBroker } from "../../src/broker/broker.ts";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { handlerCommand } from "../../src/render/handler-form.ts";
import {
  endSleepers,
  holdersOf,
  makeRunDirectory,
  makeScratch,
  removeScratch,
  start,
  until,
} from "./support.ts";

let scratch: string;
let directory: RunDirectory;
beforeEach(async () => {
  scratch = await makeScratch();
  directory = await makeRunDirectory(scratch);
});
afterEach(() => removeScratch(scratch));

const form = (isGate: boolean) =>
  handlerCommand({
    shimPath: directory.shimPath,
    event: isGate ? "PreToolUse" : "Stop",
    shimSeconds: 20,
    gate: isGate,
  });
// Without SHLVL bash takes a socket as stdin for a remote login and reads ~/.bashrc.
const call = (isGate: boolean, shell = "/bin/sh") => start([shell, "-c", form(isGate)], "{}", { SHLVL: "2" });

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
  "the run directory is deleted": () => rm(directory.path, { recursive: true }),
};

describe.each(["/bin/sh", "/bin/bash"])("run by %s", (shell) => {
  it("an answer passes unchanged through the gate's form", async () => {
    const allowing = await listen(0);
    expect(await call(true, shell).result).toEqual({
      code: 0,
      signal: null,
      stdout: '{"x":1}\n',
      stderr: "",
    });
    await allowing.close();
    const denying = await listen(2);
    expect(await call(true, shell).result).toEqual({
      code: 2,
      signal: null,
      stdout: '{"x":1}\n',
      stderr: "because\n",
    });
    await denying.close();
  });

  it("an answer on another event is always exit 0, with its JSON", async () => {
    const broker = await listen(2);
    expect(await call(false, shell).result).toMatchObject({ code: 0, stdout: '{"x":1}\n' });
    await broker.close();
  });

  it.each(Object.keys(losses))("a gate is denied with a text when %s", async (name) => {
    await losses[name]?.();
    const { code, stderr } = await call(true, shell).result;
    expect(code).toBe(2);
    expect(stderr.trim()).not.toBe("");
  });

  it.each(Object.keys(losses))("another event exits 0 when %s", async (name) => {
    await losses[name]?.();
    expect(await call(false, shell).result).toMatchObject({ code: 0, stdout: "" });
  });

  it.each([
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
      const made = call(isGate, shell);
      await until("it waits", () => waits);
      const shim = (await holdersOf(directory)).find((pid) => isShim(pid));
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

function isShim(pid: number): boolean {
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  return words[1] === directory.shimPath;
}

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
