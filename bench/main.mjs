// `npm run bench`: every comparison, as tables on stdout and as data in bench/results.json.
// Exits 1 when a promise is broken on a quiet machine. `--quick` for a smoke run: its numbers mean nothing.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { benchFirstRequest } from "./first-request.mjs";
import { benchGuardedCall } from "./guarded-call.mjs";
import { machine, toMarkdown } from "./harness.mjs";
import { benchHooks } from "./hooks.mjs";
import { benchHost } from "./host.mjs";
import { benchMemory } from "./memory.mjs";
import { benchPackage } from "./package.mjs";
import { benchPersistent } from "./persistent.mjs";
import { benchBurst, benchIdleRuns, benchSpawn } from "./spawn.mjs";
import { benchStream } from "./stream.mjs";

const quick = process.argv.includes("--quick");
const on = machine();
const results = [
  await benchPackage(quick ? { rounds: 3 } : {}),
  await benchHost(quick ? { rounds: 3 } : {}),
  ...(await benchHooks(quick ? { rounds: 3, each: 2 } : {})),
  await benchPersistent(quick ? { rounds: 3 } : {}),
  await benchSpawn(quick ? { rounds: 3, each: 1 } : {}),
  await benchBurst(quick ? { runs: 20, rounds: 1 } : {}),
  await benchIdleRuns(quick ? { runs: 20, rounds: 1 } : {}),
  ...(await benchFirstRequest(quick ? { rounds: 1 } : {})),
  ...(await benchGuardedCall(quick ? { rounds: 2 } : {})),
  await benchStream(quick ? { megabytes: 20, rounds: 1 } : {}),
  ...(await benchMemory(quick ? { scale: 0.02, rounds: 1 } : {})),
];

console.log(`${on.cpu}, ${on.cores} cores, ${on.platform}, Node ${on.node}, load ${on.load1.toFixed(2)}\n`);
if (on.busy) console.log("The machine was busy when this started: compare ratios only, or measure again.\n");
console.log(results.map(toMarkdown).join("\n\n"));

if (!quick) {
  const file = join(import.meta.dirname, "results.json");
  writeFileSync(
    file,
    `${JSON.stringify({ measuredAt: new Date().toISOString(), machine: on, results }, null, 2)}\n`,
  );
}
const broken = results.flatMap(({ checks }) => checks).filter(({ holds }) => !holds);
if (broken.length > 0 && !quick && !on.busy) process.exitCode = 1;
