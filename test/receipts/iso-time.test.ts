// Moments that somebody wrote down: which there are, and that none is taken for another.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readIsoTime, toIsoTime } from "../../src/receipts/iso-time.ts";

// Far from UTC: what is taken for local time would be seen.
const before = process.env.TZ;
beforeEach(() => {
  process.env.TZ = "America/New_York";
});
afterEach(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

describe("a moment", () => {
  test.each([
    ["2026-07-01", "2026-07-01T00:00:00.000Z"],
    ["2026-07-01T10:00", "2026-07-01T10:00:00.000Z"],
    ["2026-07-01T10:00:02", "2026-07-01T10:00:02.000Z"],
    ["2026-07-01T10:00:02.5Z", "2026-07-01T10:00:02.500Z"],
    ["2026-07-01T10:00:02+02:00", "2026-07-01T08:00:02.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01", "0001-01-01T00:00:00.000Z"],
  ])("%s is %s, wherever it is read", (text, time) => {
    expect([new Date(0).getHours(), readIsoTime(text)]).toEqual([19, time]);
  });

  test.each([
    "",
    "2026",
    "2026-02-29",
    "2026-02-30",
    "2026-04-31T10:00:00Z",
    "2026-13-01",
    "2026-00-10",
    "2026-07-00",
    "2026-07-01T24:00",
    "2026-07-01T10:60",
    "2026-07-01 10:00",
    "2026-07-01T10:00:00+25:00",
    "0000-01-01T00:00:00+14:00",
    "+12026-07-01",
    "1 July 2026",
  ])("%j is none", (text) => {
    expect(readIsoTime(text)).toBeUndefined();
  });
});

test("a Date is one when it holds one, in the years that sort as text", () => {
  expect([toIsoTime(new Date(0)), toIsoTime(new Date("x")), toIsoTime(new Date(8.64e15))]).toEqual([
    "1970-01-01T00:00:00.000Z",
    undefined,
    undefined,
  ]);
});
