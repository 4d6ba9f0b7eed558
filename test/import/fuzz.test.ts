import { expect, test } from "vitest";
import { fuzzImport } from "./fuzz.ts";

/** `BRIDLE_FUZZ_RUNS` asks for more; a soak run asks for ten times as many. */
const RUNS = Number(process.env.BRIDLE_FUZZ_RUNS ?? 5000);

test(`no input of ${RUNS} makes the import throw, drop an entry, or write what does not load`, {
  timeout: 600_000,
}, () => {
  const { inputs, entries, imported, counted } = fuzzImport({ runs: RUNS });
  expect(inputs).toBeGreaterThanOrEqual(RUNS * 0.95);
  // What is never reached is not tested: there must have been something to drop.
  expect(entries).toBeGreaterThan(RUNS / 10);
  expect(imported).toBeGreaterThan(RUNS / 50);
  expect(counted).toBeGreaterThan(RUNS / 5);
  console.log(
    `import fuzz: ${inputs} inputs, ${entries} entries, ${imported} imported, ${counted} counted twice`,
  );
});
