import { expect, test } from "vitest";
import { weigh } from "../../src/spawn/weigh.ts";

test.each([
  ["a text", "x".repeat(1000)],
  ["a field", { content: "x".repeat(1000) }],
  ["a name", { ["x".repeat(1000)]: 1 }],
  ["many small values", Array.from({ length: 70 }, () => ({}))],
])("%s weighs what it takes", (_what, value) => {
  expect(weigh(value)).toBeGreaterThanOrEqual(2000);
  expect(weigh(value)).toBeLessThan(3000);
});

test("a value as deep as a line is long is weighed", () => {
  const deep: unknown = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  expect(weigh(deep)).toBe(3_200_000);
});
