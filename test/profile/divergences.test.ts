import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DIVERGENCES } from "../../src/profile/divergences.ts";

const PROFILE = new URL("../../docs/PROFILE.md", import.meta.url);

test("every divergence has an id of its own, counted without a gap", () => {
  expect(DIVERGENCES.map(({ id }) => id)).toEqual(DIVERGENCES.map((_, index) => `Dv1-${index + 1}`));
});

test("no field of a divergence is blank", () => {
  const blank = DIVERGENCES.filter((row) => Object.values(row).some((text) => text.trim() === ""));
  expect(blank).toEqual([]);
});

test.skipIf(!existsSync(PROFILE))(
  "docs/PROFILE.md has one table row for each divergence and no other",
  () => {
    const rows = [...readFileSync(PROFILE, "utf8").matchAll(/^\|\s*(Dv1-\d+)\s*\|/gm)].map(([, id]) => id);
    expect(rows).toEqual(DIVERGENCES.map(({ id }) => id));
  },
);
