// A run without a watchdog goes on and says so.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makePlace, type Place } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";

vi.mock("../../src/watchdog/watchdog.ts", () => ({
  ensureWatchdog: () => Promise.reject(new Error("there is no sh")),
}));

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

test("a run whose watchdog cannot be started is a success with one warning", async () => {
  const { result, seen } = await fakes.play(place, {
    provider: "claude",
    script: { steps: [{ text: "x" }] },
  });
  expect(result.outcome).toBe("success");
  const warnings = result.warnings.filter(({ code }) => code === "watchdog_unavailable");
  expect(warnings).toMatchObject([{ message: expect.stringContaining("there is no sh") }]);
  expect(seen.receipts).toContainEqual(
    expect.objectContaining({ kind: "warning", code: "watchdog_unavailable" }),
  );
});
