// The type checker is the test: an expectation of an error that does not come is an error itself.

import { expect, test } from "vitest";
import { RenderedHooks, type SpawnOptions } from "../../src/index.ts";

test("the type of a token takes no look-alike", () => {
  const digest = "d";
  // @ts-expect-error: its state is private, so no object literal has it
  const alike: RenderedHooks = { digest, describe: () => ({}), toJSON: () => ({}) };
  // @ts-expect-error: the options take a token and nothing else
  const options: SpawnOptions = { hooks: { digest }, prompt: "p", cwd: "/" };
  // @ts-expect-error: it has no constructor that a caller could use
  const make = () => new RenderedHooks();
  expect([alike, options].length).toBe(2);
  expect(make).toThrow();
});
