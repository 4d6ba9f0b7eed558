import fc from "fast-check";
import { expect, test } from "vitest";
import { axisStep, countOf, formatMs, formatTime, shorten } from "../../src/report/words.ts";

test.each([
  [0, "0 ms"],
  [12.4, "12 ms"],
  [1_234, "1.23 s"],
  [59_940, "59.9 s"],
  [185_000, "3 min 05 s"],
  [7_620_000, "2 h 07 min"],
  [-1_500, "−1.50 s"],
  [Number.NaN, "–"],
])("%d ms is %s", (ms, expected) => {
  expect(formatMs(ms).replaceAll("\u00a0", " ")).toBe(expected);
});

test("times, counts and long texts in words", () => {
  expect(formatTime("2026-07-01T10:00:05.123Z")).toBe("2026-07-01 10:00:05 UTC");
  expect(formatTime("<odd>")).toBe("<odd>");
  expect([countOf(1, "call"), countOf(2, "call")]).toEqual(["1 call", "2 calls"]);
  expect([shorten("abc", 3), shorten("abcd", 3)]).toEqual(["abc", "abc… (1 more characters)"]);
});

test("an axis has from 2 to 6 ticks, whatever its length", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 40 * 24 * 3_600_000 }), (total) => {
      const ticks = Math.floor(total / axisStep(total, 5)) + 1;
      expect(ticks).toBeGreaterThanOrEqual(2);
      expect(ticks).toBeLessThanOrEqual(6);
    }),
    { numRuns: 2_000 },
  );
});
