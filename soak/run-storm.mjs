// @ts-check
// Part of `npm run soak`: 10,000 hook calls by 32 callers in each shell that may be /bin/sh. Exits 1 on any violation. `--requests`,
// `--writers`, `--shell dash` for one shell alone.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startBroker } from "../dist/broker/broker.js";
import { createRunDirectory } from "../dist/broker/run-directory.js";
import { handlerCommand } from "../dist/render/handler-form.js";
import { STORM_SHELLS, storm, stormViolations } from "./storm.mjs";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    writers: { type: "string", default: "32" },
    shell: { type: "string" },
  },
});
const [requests = 0, writers = 0] = [values.requests, values.writers].map(Number);
if (!(Number.isInteger(requests) && requests > 0 && Number.isInteger(writers) && writers > 0))
  throw new TypeError(`--requests and --writers must be positive: ${values.requests}, ${values.writers}`);

const shells = STORM_SHELLS.filter(({ name }) => values.shell === undefined || name === values.shell);
if (shells.length === 0)
  throw new TypeError(`--shell must be one of ${STORM_SHELLS.map(({ name }) => name).join(", ")}`);

// Outside the temporary folder: a run directory there is refused.
mkdirSync(join(homedir(), ".cache"), { recursive: true });
for (const { name, argv } of shells) {
  if (argv === undefined) {
    console.log(`SKIPPED   ${name}: it is not installed`);
    continue;
  }
  const folder = mkdtempSync(join(homedir(), ".cache", "bridle-storm-"));
  try {
    const library = { startBroker, createRunDirectory, handlerCommand };
    const startedAt = performance.now();
    const violations = stormViolations(await storm(library, { folder, argv, requests, writers }), requests);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    for (const what of violations.slice(0, 20)) console.log(`VIOLATED  ${name}: ${what}`);
    console.log(
      `${name}: ${requests} calls by ${writers} callers in ${seconds} s, ${violations.length} violations`,
    );
    if (violations.length > 0) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
