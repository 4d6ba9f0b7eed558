// The shape of a fake provider's script. What is checked when it is loaded: fake/script.mjs. What each sin does: fake/sins.mjs.

import type { Json, JsonObject } from "../json.ts";
import type { Provider } from "../profile/events.ts";
import type { SINS } from "./fake/sins.mjs";

/** Where in a script a sin stands. */
export type SinPlace = "run" | "step" | "tool";

/** What a sin takes: `megabytes` are 1,000,000 bytes, `code` is an exit code from 0 to 255. */
export type SinValue = "megabytes" | "code" | "signal" | "flag" | "version" | "event";

export interface SinRow {
  readonly on: SinPlace;
  readonly providers: readonly Provider[];
  readonly value?: SinValue;
  /** What the fake does. */
  readonly does: string;
  /** What Bridle makes of it. */
  readonly bridle: string;
}

export type SinName = keyof typeof SINS;

type Written<Name extends SinName> = (typeof SINS)[Name] extends { readonly value: infer Value }
  ? { readonly [Key in Name]: Value extends "megabytes" | "code" ? number : string }
  : Name;

/** A sin at one place: its name, or `{ name: value }` for one that takes a value. */
export type SinAt<Place extends SinPlace> = {
  [Name in SinName]: (typeof SINS)[Name]["on"] extends Place ? Written<Name> : never;
}[SinName];

/** One tool call; exactly one of `shell`, `write` and `raw`. */
export type FakeTool = (
  | { readonly shell: string }
  | {
      readonly write: {
        /** Absolute, or relative to the agent's working directory. Folders are made. */
        readonly path: string;
        readonly content: string;
      };
    }
  | {
      /** A call without an effect: `name` and `input` as a guard sees them. */
      readonly raw: { readonly name: string; readonly input: JsonObject; readonly output?: Json };
    }
) & { readonly sins?: readonly SinAt<"tool">[] };

export interface FakeStep {
  /** Said before the tools. `{{prompt}}` is the prompt, `{{children}}` the pids that sins have left so far. */
  readonly text?: string;
  readonly thinking?: string;
  /** All calls of one step are made at once, as the CLIs do. */
  readonly tools?: readonly FakeTool[];
  /** Committed in this order, before anything else of the step. */
  readonly sins?: readonly SinAt<"step">[];
}

export interface FakeScript {
  /** What `--version` says, with `+fake` behind it. Default `2.1.332` (claude), `0.171.0` (codex). */
  readonly version?: string;
  readonly steps: readonly FakeStep[];
  readonly sins?: readonly SinAt<"run">[];
}
