// What it costs to load the library and to ask the command for its version, beside Node itself. Each sample is the start of one process.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { compare } from "./harness.mjs";

const dist = new URL("../dist/", import.meta.url);
const IMPORT_LIMIT = 2.5;
const VERSION_LIMIT = 1.5;

/** Starts Node with these words and waits for its end. */
const start = (words) => async () => {
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${words.join(" ")} ended with ${status}: ${stderr}`);
};

export async function benchPackage({ rounds = 20 } = {}) {
  const library = JSON.stringify(new URL("index.js", dist).href);
  const command = fileURLToPath(new URL("cli/main.js", dist));
  return compare({
    title: "Loading the package, one process each",
    unit: "ms",
    baseline: "node -e 0",
    rounds,
    each: 1,
    variants: [
      { name: "node -e 0", run: start(["-e", "0"]) },
      { name: "import", run: start(["--input-type=module", "-e", `import(${library})`]) },
      { name: "bridle --version", run: start([command, "--version"]) },
    ],
    limits: {
      [`importing agent-bridle takes ≤ ${IMPORT_LIMIT} × node -e 0 (p50)`]: (rows) => ({
        value: rows.import.ratio,
        limit: IMPORT_LIMIT,
      }),
      [`bridle --version takes ≤ ${VERSION_LIMIT} × node -e 0 (p50)`]: (rows) => ({
        value: rows["bridle --version"].ratio,
        limit: VERSION_LIMIT,
      }),
    },
  });
}
