// `npm run bench`: every comparison, as tables on stdout, as data in bench/results.json and on docs/PERFORMANCE.md.
// Exits 1 when a promise is broken on a quiet machine.
//   --quick       a smoke run: its numbers mean nothing, nothing is judged or written
//   --only NAME   the tables of that name alone, as often as wanted; nothing is written, unless
//   --write       puts them among the results of an earlier run on this machine
//   --rounds N    that many of everything: rougher, and sooner done; the tables say how many samples they have
//   --short       what needs neither peers nor real CLIs, in little time, against limits `SHORT_FACTOR` times as wide, on a busy machine too

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { benchFanOut } from "./fan-out.mjs";
import { benchFirstRequest } from "./first-request.mjs";
import { benchGuardedCall } from "./guarded-call.mjs";
import { loosen, machine, toMarkdown } from "./harness.mjs";
import { benchHooks } from "./hooks.mjs";
import { benchHost } from "./host.mjs";
import { benchMemory } from "./memory.mjs";
import { benchPackage } from "./package.mjs";
import { benchPeers } from "./peers.mjs";
import { benchPersistent } from "./persistent.mjs";
import { benchBurst, benchIdleRuns, benchSpawn } from "./spawn.mjs";
import { benchStream, benchStreamPeers } from "./stream.mjs";
import { writePage } from "./write-page.mjs";

/**
 * In the order in which they are measured. `run` returns a table or several; `quick` and `short` are its options then, and what has no `short` is not
 * measured there. Each name has its place on docs/PERFORMANCE.md.
 */
const TABLES = [
  { name: "package", run: benchPackage, quick: { rounds: 3 } },
  { name: "host", run: benchHost, quick: { rounds: 3 }, short: { rounds: 7 } },
  {
    name: "hooks",
    run: benchHooks,
    quick: { rounds: 3, each: 2 },
    short: { rounds: 16, each: 1, batch: 10 },
  },
  { name: "persistent", run: benchPersistent, quick: { rounds: 3 } },
  { name: "spawn", run: benchSpawn, quick: { rounds: 3, each: 1 } },
  { name: "burst", run: benchBurst, quick: { runs: 20, rounds: 1 } },
  { name: "idle-runs", run: benchIdleRuns, quick: { runs: 20, rounds: 1 } },
  { name: "first-request", run: benchFirstRequest, quick: { rounds: 1 } },
  {
    name: "peers",
    run: benchPeers,
    quick: { rounds: 3, each: 1 },
    short: { rounds: 12, each: 1, hasPeers: false },
  },
  { name: "guarded-call", run: benchGuardedCall, quick: { rounds: 2 } },
  {
    name: "stream",
    run: benchStream,
    quick: { megabytes: 4, rounds: 2 },
    short: { megabytes: 4, rounds: 5, sizes: 3 },
  },
  { name: "stream-peers", run: benchStreamPeers, quick: { megabytes: 4, rounds: 2 } },
  { name: "fan-out", run: benchFanOut, quick: { agents: 10, calls: 4, rounds: 1 } },
  { name: "memory", run: benchMemory, quick: { scale: 0.02, rounds: 1 } },
];

/** Room for a loaded machine with few cores: what breaks a limit that many times as wide is slower, not unlucky. */
const SHORT_FACTOR = 2.5;

const RESULTS = join(import.meta.dirname, "results.json");

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    write: { type: "boolean", default: false },
    rounds: { type: "string" },
  },
});
const names = TABLES.map(({ name }) => name);
const unknown = flags.only.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`no tables ${unknown.join(", ")}; there are ${names.join(", ")}`);
  process.exit(64);
}

if (flags.rounds !== undefined && !/^[1-9]\d*$/.test(flags.rounds)) {
  console.error(`--rounds takes a number from 1: ${JSON.stringify(flags.rounds)}`);
  process.exit(64);
}

const on = await machine();
console.log(
  `${on.cpu}, ${on.cores} cores, ${on.platform}, Node ${on.node}, load ${on.load1.toFixed(2)}, ${Math.round(on.busyCpu * 100)} % at work before\n`,
);
if (on.busy) console.log("The machine was busy when this started: compare ratios only, or measure again.\n");

const wanted = TABLES.filter(
  ({ name, short }) =>
    (flags.only.length === 0 || flags.only.includes(name)) && (!flags.short || short !== undefined),
);
const results = [];
const failed = [];
for (const table of wanted) {
  try {
    for (const result of await measure(table)) {
      results.push(result);
      console.log(`${toMarkdown(result)}\n`);
    }
  } catch (error) {
    // The others took long to measure.
    failed.push(`${table.name}: ${error instanceof Error ? error.stack : error}`);
  }
}

async function measure({ name, run, quick, short }) {
  if (!flags.short) {
    const rounds = flags.rounds === undefined ? {} : { rounds: Number(flags.rounds) };
    const tables = [await run({ ...(flags.quick ? quick : {}), ...rounds })].flat();
    return tables.map((table) => ({
      name,
      measuredAt: new Date().toISOString(),
      ...table,
      busy: on.busy || flags.quick,
    }));
  }
  const once = async () =>
    [await run(short)].flat().map((table) => ({ name, ...loosen(table, SHORT_FACTOR), busy: false }));
  const tables = await once();
  // One bad moment is no regression: only what breaks twice in a row is broken.
  return tables.every(isSound) ? tables : once();
}

function isSound({ checks }) {
  return checks.every(({ holds }) => holds);
}

if (!flags.quick && !flags.short && (flags.only.length === 0 || flags.write)) {
  const data = { machine: on, results: [...keepEarlier(), ...results].sort(byPlace) };
  writeFileSync(RESULTS, `${JSON.stringify(data, null, 2)}\n`);
  writePage(data);
}

/** Tables of an earlier run that are not measured now, or could not be. Not of another machine: ratios would stand side by side that cannot be compared. */
function keepEarlier() {
  const earlier = JSON.parse(readFileSync(RESULTS, "utf8"));
  const measured = new Set(results.map(({ name }) => name));
  const isSame = ["cpu", "cores", "platform", "node"].every((key) => earlier.machine[key] === on[key]);
  const missing = names.filter((name) => !measured.has(name));
  if (missing.length === 0) return [];
  if (!isSame) throw new Error(`not measured, and known of another machine alone: ${missing.join(", ")}`);
  return earlier.results.filter(({ name }) => missing.includes(name));
}

function byPlace(one, other) {
  return names.indexOf(one.name) - names.indexOf(other.name);
}

const broken = results.filter(({ busy }) => !busy).filter((table) => !isSound(table));
for (const { title, checks } of broken)
  for (const { promise, holds } of checks) if (!holds) console.log(`broken: ${title}: ${promise}`);
for (const failure of failed) console.log(`failed: ${failure}`);
if (broken.length > 0 || failed.length > 0) process.exitCode = 1;
