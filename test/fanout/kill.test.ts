// A tenth of `node soak/fanout.mjs`: the same program, against the sources as they are built.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { DIST } from "../journal/support.ts";

const PROGRAM = fileURLToPath(new URL("../../soak/fanout.mjs", import.meta.url));

test.skipIf(process.platform !== "linux")(
  "a fan-out that is killed again and again brings every task to one end and leaves nothing",
  async () => {
    const words = [PROGRAM, "--tasks", "50", "--kills", "4", "--dist", DIST];
    const { stdout } = await promisify(execFile)(process.execPath, words);
    // It exits 1, and execFile rejects with what it said, when one does not hold.
    expect(stdout).toMatch(/\b(\d+) of \1 checks hold/);
  },
  300_000,
);
