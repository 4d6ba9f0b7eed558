// @ts-check
// `npm run soak`: many agents at once for a minute, and nothing of them left. Exits 1 on any violation. `--agents 200`, `--seconds 60`,
// `--containment auto`; `--library FILE` for a build other than dist/.

import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { CHECKS, findViolations } from "./checks.mjs";
import { soak } from "./soak.mjs";

const { values } = parseArgs({
  options: {
    agents: { type: "string", default: "200" },
    seconds: { type: "string", default: "60" },
    containment: { type: "string", default: "auto" },
    library: { type: "string", default: join(import.meta.dirname, "..", "dist", "index.js") },
  },
});
const [agents, seconds] = [values.agents, values.seconds].map(Number);
if (!(Number.isInteger(agents) && Number(agents) > 0 && Number(seconds) > 0))
  throw new TypeError(`--agents and --seconds must be positive: ${values.agents}, ${values.seconds}`);

const library = await import(pathToFileURL(resolve(values.library)).href);
const { measured, figures } = await soak(library, {
  agents: Number(agents),
  seconds: Number(seconds),
  containment: /** @type {"auto"} */ (values.containment),
});
const violations = findViolations(measured);

const { runs, peakRuns, descriptors, memory, watchdogs } = measured;
const mebibytes = (/** @type {number} */ bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
/** @param {(bytes: import("./checks.mjs").Bytes) => number} of */
const overTime = (of) =>
  `before ${mebibytes(of(memory.before))}, first third ${mebibytes(of(memory.third))}, end ${mebibytes(of(memory.end))}, after ${mebibytes(of(memory.after))}`;
const inSeconds = (/** @type {number} */ ms) => `${(ms / 1000).toFixed(1)} s`;
const states = [...new Set(runs.map(({ extinction }) => extinction))].join(", ");
console.log(
  [
    `runs                 ${runs.length}, at once ${peakRuns}, extinction ${states}`,
    `hook calls           ${figures.hookCalls}`,
    `time                 ${inSeconds(figures.elapsedMs)}, of which all had started after ${inSeconds(figures.rampMs)}`,
    `resident memory      peak ${mebibytes(memory.peakRss)}; ${overTime(({ rss }) => rss)}`,
    `live objects         ${overTime(({ heap }) => heap)}`,
    `open descriptors     before ${descriptors.before}, peak ${descriptors.peak}, after ${descriptors.after}`,
    `event loop delay     p99 ${figures.eventLoopDelayP99Ms.toFixed(1)} ms`,
    `watchdogs            ${watchdogs}`,
    `attestMs             ${figures.attestMs} in place of 15000: all start at once`,
    "",
    ...violations.map(({ check, detail }) => `VIOLATED  ${check}\n          ${detail}`),
    `${Object.keys(CHECKS).length - violations.length} of ${Object.keys(CHECKS).length} checks hold`,
  ].join("\n"),
);
// The watchdog does not keep the program alive; nothing else may.
process.exitCode = violations.length === 0 ? 0 : 1;
