// Each sin once under each provider that can commit it: what Bridle makes of it, and what has become of the files.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PROVIDERS } from "../../src/profile/events.ts";
import { SINS, type SinName, type SinRow } from "../../src/testkit/index.ts";
import { leftovers, makePlace, type Place } from "../spawn/support.ts";
import { RUN_CASES, type SinCase, STEP_CASES, TOOL_CASES } from "./sin-cases.ts";
import { isThere, play, refusalOf } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const rows = Object.entries(SINS) as [SinName, SinRow][];
const casesOf = (name: SinName) => ({ ...TOOL_CASES, ...STEP_CASES, ...RUN_CASES })[name];

test("every sin has its case, at its place", () => {
  const named = { tool: TOOL_CASES, step: STEP_CASES, run: RUN_CASES };
  for (const [place, cases] of Object.entries(named))
    expect(Object.keys(cases)).toEqual(rows.filter(([, { on }]) => on === place).map(([name]) => name));
});

const toMatch = (value: unknown) => (value instanceof RegExp ? expect.stringMatching(value) : value);

describe.each(PROVIDERS)("of %s", (provider) => {
  const names = rows.filter(([, { providers }]) => providers.includes(provider)).map(([name]) => name);
  test.each(names)("%s", async (name) => {
    const found = casesOf(name);
    if (found === undefined) throw new Error(`no case for ${name}`);
    const sinCase: SinCase = "script" in found ? found : found[provider];
    const { ends, files = {}, warns = [], check } = sinCase;
    if ("refused" in ends) {
      const { codes, seen } = await refusalOf(place, { provider, ...sinCase });
      expect(codes).toEqual([ends.refused]);
      expect(seen.exits).toEqual(["refused"]);
    } else {
      const played = await play(place, { provider, ...sinCase });
      const expected = Object.fromEntries(Object.entries(ends).map(([key, value]) => [key, toMatch(value)]));
      expect(played.result).toMatchObject(expected);
      expect(played.seen.exits).toEqual([played.result.outcome]);
      for (const code of warns)
        expect(played.events).toContainEqual(expect.objectContaining({ type: "warning", code }));
      check?.(played);
    }
    for (const [file, isExpected] of Object.entries(files))
      expect([file, isThere(place, file)]).toEqual([file, isExpected]);
    expect(await leftovers(place)).toEqual([]);
  });
});
