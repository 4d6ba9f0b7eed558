// Side-by-side measurement: variants take turns within each round, so that a busy moment hits all of them alike.

import os from "node:os";

/** @typedef {{ name: string, run: () => Promise<number | void>, setup?: () => Promise<void>, teardown?: () => Promise<void> }} Variant */

/**
 * Runs `rounds` interleaved rounds after `warmup` that do not count; `each` calls of a variant per round.
 * A variant's `run` returns its own measure, or nothing: then its wall time in ms counts.
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
}) {
  const samples = new Map(variants.map(({ name }) => [name, []]));
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
          const value = own ?? performance.now() - start;
          if (round >= 0) samples.get(name).push(value);
        }
      }
    }
  } finally {
    for (const { teardown } of variants) await teardown?.();
  }
  const base = quantile(samples.get(baseline), 0.5);
  const rows = variants.map(({ name }) => {
    const values = samples.get(name);
    const p50 = quantile(values, 0.5);
    return {
      name,
      n: values.length,
      p50,
      p90: quantile(values, 0.9),
      p99: quantile(values, 0.99),
      ratio: p50 / base,
    };
  });
  const byName = Object.fromEntries(rows.map((row) => [row.name, row]));
  const checks = Object.entries(limits).map(([promise, check]) => {
    const { value, limit } = check(byName);
    return { promise, value, limit, holds: value <= limit };
  });
  return { title, unit, baseline, loadBefore, loadAfter: os.loadavg()[0], rows, checks };
}

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.ceil(at)] - sorted[low]) * (at - low);
}

export function toMarkdown({ title, unit, baseline, rows, checks }) {
  const cell = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(2));
  const lines = [
    `### ${title}`,
    "",
    `| variant | p50 (${unit}) | p90 | p99 | × ${baseline} | n |`,
    "|---|---|---|---|---|---|",
    ...rows.map(
      (r) => `| ${r.name} | ${cell(r.p50)} | ${cell(r.p90)} | ${cell(r.p99)} | ${cell(r.ratio)} | ${r.n} |`,
    ),
  ];
  if (checks.length > 0) {
    lines.push("", "| promise | measured | limit | |", "|---|---|---|---|");
    for (const { promise, value, limit, holds } of checks) {
      lines.push(
        `| ${promise} | ${value.toFixed(3)} | ${limit.toFixed(3)} | ${holds ? "holds" : "BROKEN"} |`,
      );
    }
  }
  return lines.join("\n");
}

/** What the numbers were measured on. A load above half the cores means: measure again. */
export function machine() {
  const cpus = os.cpus();
  const [load1] = os.loadavg();
  return {
    platform: `${os.type()} ${os.arch()}`,
    cpu: cpus[0]?.model ?? "unknown",
    cores: cpus.length,
    memoryMiB: Math.round(os.totalmem() / 2 ** 20),
    node: process.version,
    load1,
    busy: load1 > cpus.length / 2,
  };
}
