// Each sin once under one provider: what Bridle makes of it, and what has become of the files. One test file a provider, so that they
// run beside each other.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { Provider } from "../../src/index.ts";
import { SINS, type SinName, type SinRow } from "../../src/testkit/index.ts";
import { leftovers, makePlace, type Place } from "../spawn/support.ts";
import { RUN_CASES, type SinCase, STEP_CASES, TOOL_CASES } from "./sin-cases.ts";
import { isThere, play, refusalOf } from "./support.ts";

const rows = Object.entries(SINS) as [SinName, SinRow][];
const casesOf = (name: SinName) => ({ ...TOOL_CASES, ...STEP_CASES, ...RUN_CASES })[name];

const toMatch = (value: unknown) => (value instanceof RegExp ? expect.stringMatching(value) : value);

/** What is wrong with a hook's shell, and with nothing else. */
const OF_THE_SHELL: readonly SinName[] = ["kill-hook-shell", "hook-exit-code"];

/** @param transport every case, or with `callbacks` those of a tool call with hooks asked that way */
export function testSins(provider: Provider, transport?: "callbacks"): void {
  let place: Place;
  beforeEach(async () => {
    place = await makePlace();
  });
  afterEach(() => place.remove());

  test("every sin has its case, at its place", () => {
    const named = { tool: TOOL_CASES, step: STEP_CASES, run: RUN_CASES };
    for (const [on, cases] of Object.entries(named))
      expect(Object.keys(cases)).toEqual(rows.filter(([, row]) => row.on === on).map(([name]) => name));
  });

  const names = rows
    .filter(([, { providers }]) => providers.includes(provider))
    .filter(([name, { on }]) => transport === undefined || (on === "tool" && !OF_THE_SHELL.includes(name)))
    .map(([name]) => name);
  test.each(names)("%s", async (name) => {
    const found = casesOf(name);
    if (found === undefined) throw new Error(`no case for ${name}`);
    const ofProvider: SinCase = "script" in found ? found : found[provider];
    const sinCase: SinCase = transport === undefined ? ofProvider : { ...ofProvider, transport };
    const { ends, files = {}, warns = [], shows = [], check } = sinCase;
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
      for (const event of shows) expect(played.events).toContainEqual(expect.objectContaining(event));
      check?.(played);
    }
    for (const [file, isExpected] of Object.entries(files))
      expect([file, isThere(place, file)]).toEqual([file, isExpected]);
    expect(await leftovers(place)).toEqual([]);
  });
}
