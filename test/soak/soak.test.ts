// A tenth of `npm run soak`: the same program, against the sources as they are built.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { DIST } from "../journal/support.ts";

const MAIN = fileURLToPath(new URL("../../soak/main.mjs", import.meta.url));

test.skipIf(process.platform !== "linux")(
  "20 agents at a time for 6 seconds leave no descriptor, memory, file or process, and no gap in a sequence",
  async () => {
    const words = ["--expose-gc", MAIN, "--agents", "20", "--seconds", "6"];
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...words,
      "--library",
      join(DIST, "index.js"),
    ]);
    // It exits 1, and execFile rejects with what it said, when one does not hold.
    expect(stdout).toMatch(/\b(\d+) of \1 checks hold/);
  },
  120_000,
);
