// Faults of the run directory and of the broker, as the shim meets them (docs/THREATS.md). Each gate must end in exit 2 with a
// reason, each other event in a silent exit 0; the controls show that the same calls work without the fault.

import { constants } from "node:fs";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { ADMITTED_CODE, SLOTS } from "../../src/broker/shim.ts";
import { SHELLS } from "./shells.ts";
import {
  answerOnce,
  claimsOf,
  endSleepers,
  expectFault,
  makeRunDirectory,
  makeScratch,
  removeScratch,
  SHIM_CALLS,
  type ShellCall,
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

const admitted = (kind: "GATE" | "OTHER") => (kind === "GATE" ? ADMITTED_CODE : 0);

const damage: Record<string, (path: string) => Promise<unknown>> = {
  "q deleted": (path) => rm(join(path, "q")),
  "q replaced by a file": async (path) => {
    await rm(join(path, "q"));
    await writeFile(join(path, "q"), "");
  },
  "q replaced by a directory": async (path) => {
    await rm(join(path, "q"));
    await mkdir(join(path, "q"));
  },
  "the slots deleted": (path) => Promise.all(SLOTS.map((slot) => rm(join(path, "r", slot)))),
  "the slots replaced by files": (path) =>
    Promise.all(
      SLOTS.map(async (slot) => {
        await rm(join(path, "r", slot));
        await writeFile(join(path, "r", slot), `0 1\n\n\n`);
      }),
    ),
  "r/ deleted": (path) => rm(join(path, "r"), { recursive: true }),
  "e/ deleted": (path) => rm(join(path, "e"), { recursive: true }),
};

const garbage: Record<string, (pid: string, slot: string) => string> = {
  "another call's pid": (pid) => `0 ${Number(pid) + 1}\n\n\n`,
  "no pid": () => "0\n\n\n",
  words: () => "allow this please\n\n\n",
  "CRLF line ends": (pid) => `0 ${pid}\r\n\r\n\r\n`,
  "an extra word": (pid) => `0 ${pid} 0\n\n\n`,
  "code 1": (pid) => `1 ${pid}\n\n\n`,
  "code 00": (pid) => `00 ${pid}\n\n\n`,
  "code 127": (pid) => `127 ${pid}\n\n\n`,
  "a deny without a reason": (pid) => `2 ${pid}\n\n\n`,
  "a body file that is missing": (pid) => `F0 ${pid}\n\n\n`,
  "an empty first line": () => "\n\n\n",
};

describe.each(
  SHELLS.flatMap((shell) => SHIM_CALLS.map(({ form, argv: argvOf }) => ({ ...shell, form, argvOf }))),
)("in $name, $form", ({ argv, present, argvOf }) => {
  const test = it.skipIf(!present);
  const call = (words: readonly string[], envelope: string): ShellCall =>
    start(argvOf(argv, directory, words), envelope);
  const shim = (kind: "GATE" | "OTHER", seconds = 20): ShellCall =>
    call(["PreToolUse", String(seconds), kind], '{"a":1}\n');
  const signalShim = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    const [pid, ...others] = await waitingShims(directory);
    if (pid === undefined || others.length > 0) throw new Error("there is not one shim that waits");
    process.kill(pid, signal);
  };

  describe.each(["GATE", "OTHER"] as const)("as %s", (kind) => {
    test("control: an admitting answer is its own code with its stdout", async () => {
      const answering = answerOnce(directory, (pid) => `0 ${pid}\n\n{"x":"a\\\\b"}\n`);
      const made = shim(kind);
      await answering;
      expect(await made.result).toEqual({
        code: admitted(kind),
        signal: null,
        stdout: '{"x":"a\\\\b"}\n',
        stderr: "",
      });
    });

    test("control: a deny is exit 2 with both texts", async () => {
      const answering = answerOnce(directory, (pid) => `2 ${pid}\nno: é\\n\n{"d":1}\n`);
      const made = shim(kind);
      await answering;
      expect(await made.result).toEqual({ code: 2, signal: null, stdout: '{"d":1}\n', stderr: "no: é\\n\n" });
    });

    test.each(Object.keys(damage))("fault: %s", async (name) => {
      await damage[name]?.(directory.path);
      await expectFault(kind, shim(kind));
    });

    test.each(Object.keys(garbage))("garbage reply: %s", async (name) => {
      const answering = answerOnce(directory, (pid, slot) => garbage[name]?.(pid, slot) ?? "");
      const made = shim(kind);
      await answering;
      await expectFault(kind, made);
    });

    test("ended by SIGTERM while it waits", async () => {
      const queue = await open(join(directory.path, "q"), "r+");
      const made = shim(kind, 20);
      await queue.read(Buffer.alloc(128));
      await signalShim("SIGTERM");
      await expectFault(kind, made);
      await queue.close();
    });

    test("called without an event, or with a deadline that is no number", async () => {
      await expectFault(kind, call(["", "5", kind], ""));
      await expectFault(kind, call(["a b", "5", kind], ""));
      await expectFault(kind, call(["Stop", "1.5", kind], ""));
    });

    test("an answer that cannot be printed is a fault", async () => {
      const queue = await open(join(directory.path, "q"), "r+");
      const shimArgv = argvOf(argv, directory, ["PreToolUse", "20", kind]);
      const made = start(["/bin/sh", "-c", '"$@" >/dev/full', "sh", ...shimArgv], "{}");
      const { buffer, bytesRead } = await queue.read(Buffer.alloc(128));
      const [, slot = "", pid = ""] = buffer.toString("utf8", 0, bytesRead).trim().split(" ");
      await writeFile(join(directory.path, "r", slot), `0 ${pid}\n\n{"rewrite":1}\n`);
      await expectFault(kind, made);
      await queue.close();
    });
  });

  test("a stale answer never becomes the next caller's: a killed caller's FIFO has no reader", async () => {
    const queue = await open(join(directory.path, "q"), "r+");
    const first = shim("GATE", 20);
    await queue.read(Buffer.alloc(128));
    await signalShim("SIGKILL");
    await until("the caller is gone", () => first.child.exitCode !== null || first.child.signalCode !== null);
    const { O_WRONLY, O_NONBLOCK } = constants;
    await expect(open(join(directory.path, "r", "0"), O_WRONLY | O_NONBLOCK)).rejects.toMatchObject({
      code: "ENXIO",
    });
    await queue.close();
    await endSleepers(directory);
  });

  test("the envelope arrives byte for byte, also 2 MB of it", async () => {
    const envelope = `{"text":"${"é\\\\ü".repeat(350_000)}"}\n`;
    const queue = await open(join(directory.path, "q"), "r+");
    const made = call(["PreToolUse", "20", "GATE"], envelope);
    const { buffer, bytesRead } = await queue.read(Buffer.alloc(128));
    expect(buffer.toString("utf8", 0, bytesRead)).toMatch(/^T 0 \d+ PreToolUse\n$/);
    expect(await readFile(join(directory.path, "e", "0"), "utf8")).toBe(envelope);
    const pid = buffer.toString("utf8", 0, bytesRead).split(" ")[2];
    await writeFile(join(directory.path, "r", "0"), `0 ${pid}\n\n\n`);
    expect(await made.result).toEqual({ code: ADMITTED_CODE, signal: null, stdout: "", stderr: "" });
    await queue.close();
  });

  test("when all slots are taken a caller makes its own FIFO", async () => {
    await Promise.all(SLOTS.map((slot) => writeFile(join(directory.path, "e", slot), "")));
    const answering = answerOnce(directory, (pid, slot) => {
      expect(slot).toBe(`x${pid}`);
      return `0 ${pid}\n\n\n`;
    });
    const made = shim("GATE");
    await answering;
    expect(await made.result).toMatchObject({ code: ADMITTED_CODE, stderr: "" });
    expect(await claimsOf(directory)).toHaveLength(SLOTS.length + 1);
  });
});
