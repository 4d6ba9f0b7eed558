// Faults that only the shim's own deadline can end. Each takes a second, so they run side by side.

import { execFile } from "node:child_process";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, it } from "vitest";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { SHELLS } from "./shells.ts";
import {
  answerOnce,
  expectFault,
  makeRunDirectory,
  makeScratch,
  removeScratch,
  SHIM_CALLS,
  type ShellCall,
  start,
} from "./support.ts";

interface Scene {
  readonly scratch: string;
  readonly directory: RunDirectory;
  call(): ShellCall;
}

const faults: Record<string, (scene: Scene) => Promise<ShellCall>> = {
  "no broker at all": async ({ call }) => call(),
  "a broker that ended before the call": async ({ directory, call }) => {
    await (await open(directory.requestFifo, "r+")).close();
    return call();
  },
  "a broker that never answers": async ({ directory, call }) => {
    const queue = await open(directory.requestFifo, "r+");
    const made = call();
    void made.result.finally(() => queue.close());
    return made;
  },
  "a broker that ends while the call waits": async ({ directory, call }) => {
    const queue = await open(directory.requestFifo, "r+");
    const made = call();
    await queue.read(Buffer.alloc(128));
    await queue.close();
    return made;
  },
  "half a line": async ({ directory, call }) => {
    const answering = answerOnce(directory, (pid) => `0 ${pid}`);
    const made = call();
    await answering;
    return made;
  },
  "two of three lines": async ({ directory, call }) => {
    const answering = answerOnce(directory, (pid) => `0 ${pid}\n\n`);
    const made = call();
    await answering;
    return made;
  },
  "q replaced by another FIFO": async ({ directory, call }) => {
    await rm(directory.requestFifo);
    await promisify(execFile)("mkfifo", [directory.requestFifo]);
    return call();
  },
  "the run directory renamed away while the call waits": async ({ scratch, directory, call }) => {
    const queue = await open(directory.requestFifo, "r+");
    const made = call();
    await queue.read(Buffer.alloc(128));
    await rename(directory.path, join(scratch, "elsewhere"));
    await queue.close();
    return made;
  },
};

describe.concurrent.each(SHELLS)("in $name", ({ argv, present }) => {
  describe.each(
    SHIM_CALLS.flatMap((call) => (["GATE", "OTHER"] as const).map((kind) => ({ ...call, kind }))),
  )("$form, as $kind", ({ argv: argvOf, kind }) => {
    it.skipIf(!present).each(Object.keys(faults))("the deadline ends a call with %s", async (name) => {
      const scratch = await makeScratch();
      try {
        const directory = await makeRunDirectory(scratch);
        const call = () => start(argvOf(argv, directory, ["PreToolUse", "1", kind]), "{}\n");
        const made = await faults[name]?.({ scratch, directory, call });
        if (made === undefined) throw new Error("no such fault");
        await expectFault(kind, made);
      } finally {
        await removeScratch(scratch);
      }
    });
  });
});
