// Where the worlds are known to part, by name. Everything else must agree.

import type { Provider } from "../../src/index.ts";
import type { Pair } from "./corpus.ts";
import type { Effect } from "./worlds.ts";

export interface WorldDivergence {
  readonly id: string;
  readonly why: string;
  /** What the broker's effect must be, when this is such a pair; undefined when it is not. */
  readonly expect: (host: Effect, pair: Pair, provider: Provider) => Effect | undefined;
}

export const WORLD_DIVERGENCES: readonly WorldDivergence[] = [
  {
    id: "Hd-1 codex rewrites by a string command only",
    why: "codex runs the original for an updatedInput that it cannot read, so Bridle denies (docs/providers/codex.md, X-37)",
    expect: ({ input }, pair, provider) => {
      const isRewritten = JSON.stringify(input) !== JSON.stringify(pair.input);
      if (provider !== "codex" || input === undefined || !isRewritten || typeof input.command === "string")
        return undefined;
      return { denied: "the guard's rewrite has no string command, and codex would run the original" };
    },
  },
];
