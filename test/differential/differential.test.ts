// One declaration decides the same in every world: in a host, and through shim and broker for claude and codex. 350 chains, each run for real.
// What the real CLIs then do is held in conformance/differential.test.ts.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Provider } from "../../src/index.ts";
import { sayReason, wellFormed } from "../../src/render/reason.ts";
import { makeScratch, removeScratch } from "../broker/support.ts";
import { CORPUS, type Pair } from "./corpus.ts";
import { WORLD_DIVERGENCES } from "./divergences.ts";
import { type BrokerWorld, type Effect, openBrokerWorld, playInHost } from "./worlds.ts";

let scratch: string;
const worlds = new Map<Provider, BrokerWorld>();
beforeAll(async () => {
  scratch = await makeScratch();
  for (const provider of ["claude", "codex"] as const)
    worlds.set(provider, await openBrokerWorld(provider, `${scratch}/${provider}`, scratch));
});
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
  await removeScratch(scratch);
});

/** Reasons and contexts go to an agent as well-formed text; a denied action's context goes nowhere. */
function asTold({ denied, context, input }: Effect): Effect {
  return {
    ...(input === undefined ? {} : { input }),
    ...(denied === undefined ? {} : { denied: sayReason(denied) }),
    ...(context === undefined || denied !== undefined ? {} : { context: wellFormed(context) }),
  };
}

test("the corpus has at least 300 pairs, and all of them differ", () => {
  expect(CORPUS.length).toBeGreaterThanOrEqual(300);
  expect(
    new Set(CORPUS.map(({ name: _name, generated: _generated, ...pair }) => JSON.stringify(pair))).size,
  ).toBe(CORPUS.length);
});

const parted = new Set<string>();
const shown = new Map<string, number>();

/** `PreToolUse: denied`, `Stop: nothing`, … */
function kindOf({ event, input: given }: Pair, { denied, input, context }: Effect): string {
  if (denied !== undefined) return `${event}: denied`;
  const isRewritten = input !== undefined && JSON.stringify(input) !== JSON.stringify(given);
  return `${event}: ${isRewritten ? "rewritten" : context === undefined ? "nothing" : "context"}`;
}

describe.each(CORPUS.map((pair) => ({ ...pair, pair })))("$event, $name", ({ pair }) => {
  test("a host and both brokers decide the same, or part by a name", async () => {
    const host = asTold(await playInHost(pair, scratch));
    const kind = kindOf(pair, host);
    shown.set(kind, (shown.get(kind) ?? 0) + 1);
    for (const [index, [provider, world]] of [...worlds].entries()) {
      if (pair.generated !== undefined && pair.generated % worlds.size !== index) continue;
      const broker = asTold(await world.play(pair));
      const named = WORLD_DIVERGENCES.map(({ id, expect: effect }) => ({
        id,
        effect: effect(host, pair, provider),
      })).find(({ effect }) => effect !== undefined);
      if (named !== undefined) parted.add(named.id);
      expect(broker, `${provider}${named === undefined ? "" : `, ${named.id}`}`).toEqual(
        named?.effect ?? host,
      );
    }
  });
});

test("the corpus shows each effect of each event more than once, and each divergence", () => {
  const rare = EFFECTS.filter((kind) => (shown.get(kind) ?? 0) < 2);
  expect(rare).toEqual([]);
  expect([...shown.keys()].filter((kind) => !EFFECTS.includes(kind))).toEqual([]);
  expect([...parted]).toEqual(WORLD_DIVERGENCES.map(({ id }) => id));
});

const EFFECTS = [
  ...["denied", "rewritten", "context", "nothing"].map((kind) => `PreToolUse: ${kind}`),
  ...["denied", "context", "nothing"].flatMap((kind) => [
    `PostToolUse: ${kind}`,
    `UserPromptSubmit: ${kind}`,
  ]),
  ...["denied", "nothing"].map((kind) => `Stop: ${kind}`),
  ...["context", "nothing"].map((kind) => `SessionStart: ${kind}`),
];
