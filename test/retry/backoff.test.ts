import { describe, expect, it } from "vitest";
import { backoffMs } from "../../src/retry/backoff.ts";

const at = (random: number) => ({ random: () => random, now: () => 1_000_000 });

describe("the wait before another try", () => {
  it("is below a bound that doubles up to the cap", () => {
    const waits = [1, 2, 3, 7, 1_000].map((failures) => backoffMs(failures, undefined, at(1)));
    expect(waits).toEqual([1_000, 2_000, 4_000, 60_000, 60_000]);
  });

  it("is anywhere from nothing to the bound", () => {
    expect([0, 0.25, 0.5].map((random) => backoffMs(2, undefined, at(random)))).toEqual([0, 500, 1_000]);
  });

  it("never ends before the time that the provider named", () => {
    expect(backoffMs(1, 1_030_000, at(0))).toBe(30_000);
    expect(backoffMs(1, 1_030_000, at(0.5))).toBe(30_500);
    expect(backoffMs(1, 900_000, at(0.5))).toBe(500);
  });
});
