// Side-by-side measurement: variants take turns within each round, so that a busy moment hits all of them alike.

import os from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/**
 * What a variant measured: one value in the table's unit; or with other figures of the same sample, whose medians get columns of their own.
 * @typedef {number | { value: number, more: Readonly<Record<string, number>> }} Sample
 * @typedef {{ name: string, run: () => Promise<Sample | void> | Sample | void, setup?: () => Promise<void>, teardown?: () => Promise<void> }} Variant
 */

/**
 * Runs `rounds` interleaved rounds after `warmup` that do not count; `each` calls of a variant per round.
 * A variant's `run` returns its own measure, or nothing: then its wall time in ms counts. Limits: see `summarise`.
 */
export async function compare({
  title,
  unit,
  variants,
  baseline,
  rounds = 30,
  warmup = 3,
  each = 5,
  limits = {},
  notes = [],
}) {
  const samples = Object.fromEntries(variants.map(({ name }) => [name, []]));
  const loadBefore = os.loadavg()[0];
  for (const { setup } of variants) await setup?.();
  try {
    for (let round = -warmup; round < rounds; round++) {
      // Rotate the order: no variant always runs behind the same neighbour.
      const shift = (round + warmup) % variants.length;
      for (const { name, run } of [...variants.slice(shift), ...variants.slice(0, shift)]) {
        for (let call = 0; call < each; call++) {
          const start = performance.now();
          const own = await run();
          const sample = own ?? performance.now() - start;
          if (round >= 0) samples[name].push(sample);
        }
      }
    }
  } finally {
    for (const { teardown } of variants) await teardown?.();
  }
  return summarise({ title, unit, baseline, samples, limits, loadBefore, notes });
}

/**
 * The table of samples by variant.
 * @param limits by promise, a function of the rows by name: `{ value, limit }` holds while the value is not above the limit,
 *   `{ value, atLeast }` while it is not below.
 * @param notes sentences below the table
 */
export function summarise({ title, unit, baseline, samples, limits = {}, loadBefore, notes = [] }) {
  const base = quantile(valuesOf(samples[baseline]), 0.5);
  const rows = Object.entries(samples).map(([name, list]) => {
    const values = valuesOf(list);
    const p50 = quantile(values, 0.5);
    const more = Object.keys(list[0]?.more ?? {}).map((figure) => [
      figure,
      quantile(
        list.map((sample) => sample.more[figure]),
        0.5,
      ),
    ]);
    return {
      name,
      n: values.length,
      p50,
      p90: quantile(values, 0.9),
      p99: quantile(values, 0.99),
      ratio: p50 / base,
      ...(more.length === 0 ? {} : { more: Object.fromEntries(more) }),
    };
  });
  const byName = Object.fromEntries(rows.map((row) => [row.name, row]));
  const checks = Object.entries(limits).map(([promise, check]) => {
    const { value, limit, atLeast } = check(byName);
    return judge(atLeast === undefined ? { promise, value, limit } : { promise, value, atLeast });
  });
  return { title, unit, baseline, loadBefore, loadAfter: os.loadavg()[0], rows, checks, notes };
}

const valuesOf = (list) => list.map((sample) => (typeof sample === "number" ? sample : sample.value));

/** A figure that is no number holds nothing. */
function judge(check) {
  const { value, limit, atLeast } = check;
  return { ...check, holds: atLeast === undefined ? value <= limit : value >= atLeast };
}

/** The table with limits that many times as wide. */
export const loosen = (table, factor) => ({
  ...table,
  checks: table.checks.map(({ promise, value, limit, atLeast }) =>
    judge(
      atLeast === undefined
        ? { promise, value, limit: limit * factor }
        : { promise, value, atLeast: atLeast / factor },
    ),
  ),
});

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.ceil(at)] - sorted[low]) * (at - low);
}

/** As Markdown. A table of a busy machine says so, and its promises are called neither kept nor broken. */
export function toMarkdown({
  title,
  unit,
  baseline,
  loadBefore,
  loadAfter,
  busy = false,
  rows,
  checks,
  notes = [],
}) {
  const figures = Object.keys(rows[0]?.more ?? {});
  const head = ["variant", `p50 (${unit})`, "p90", "p99", `× ${baseline}`, ...figures, "n"];
  const lines = [
    `### ${title}${busy ? " (busy machine)" : ""}`,
    "",
    ...table(head, [
      ...rows.map(({ name, p50, p90, p99, ratio, more = {}, n }) => [
        name,
        ...[p50, p90, p99, ratio, ...figures.map((figure) => more[figure])].map(cell),
        n,
      ]),
    ]),
    "",
    `Load ${loadBefore.toFixed(2)} before, ${loadAfter.toFixed(2)} after.${notes.map((note) => ` ${note}`).join("")}`,
  ];
  if (checks.length > 0) {
    const verdict = (holds) => (busy ? "not judged" : holds ? "holds" : "BROKEN");
    lines.push(
      "",
      ...table(
        ["promise", "measured", "limit", ""],
        checks.map(({ promise, value, limit, atLeast, holds }) => [
          promise,
          value.toFixed(3),
          atLeast === undefined ? `≤ ${limit.toFixed(3)}` : `≥ ${atLeast.toFixed(3)}`,
          verdict(holds),
        ]),
      ),
    );
  }
  return lines.join("\n");
}

const cell = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

const table = (head, rows) => [
  `| ${head.join(" | ")} |`,
  `|${"---|".repeat(head.length)}`,
  ...rows.map((cells) => `| ${cells.join(" | ")} |`),
];

/** Share of the processors that may be at work before anything is measured. */
const BUSY_SHARE = 0.2;
const LOOK_MS = 2_000;

/** What the numbers are measured on, and whether others are at work on it: the processors are watched for a while in which this program waits. */
export async function machine() {
  const cpus = os.cpus();
  const share = busyShare();
  await delay(LOOK_MS);
  const busyCpu = share();
  return {
    platform: `${os.type()} ${os.arch()}`,
    cpu: cpus[0]?.model ?? "unknown",
    cores: cpus.length,
    memoryMiB: Math.round(os.totalmem() / 2 ** 20),
    node: process.version,
    load1: os.loadavg()[0],
    busyCpu,
    busy: busyCpu > BUSY_SHARE,
  };
}

/** Starts watching; the function that comes back tells the share of all processors that was at work since, from 0 to 1. */
export function busyShare() {
  const before = processorTimes();
  return () => {
    const after = processorTimes();
    return (after.busy - before.busy) / (after.all - before.all);
  };
}

function processorTimes() {
  const times = os.cpus().map(({ times: { user, nice, sys, irq, idle } }) => ({
    busy: user + nice + sys + irq,
    idle,
  }));
  const busy = times.reduce((sum, one) => sum + one.busy, 0);
  return { busy, all: busy + times.reduce((sum, one) => sum + one.idle, 0) };
}
