// What one run of a case left behind: facts only, gathered from disk, from the model's side of the wire and from the result.

import type { HookCounts } from "../../spawn/result.ts";

export interface Observation {
  /** Codes and text of a refusal: nothing was run. */
  readonly refusal: { readonly codes: readonly string[]; readonly message: string } | undefined;
  /** Undefined where Bridle did not run the CLI. */
  readonly outcome: string | undefined;
  readonly reason: string;
  readonly hooks: Readonly<HookCounts> | undefined;
  /** `code: message` each. */
  readonly warnings: readonly string[];
  /** The receipt file; "" when there is none. */
  readonly receipt: string;
  /** Everything the model was told, by anyone. */
  readonly told: string;
  /** Every request the model's server was sent, as text. */
  readonly sent: string;
  readonly offered: readonly string[];
  readonly modelCalls: number;
}

/** One expectation beside what was seen. */
export interface Check {
  /** What was looked at, in words. */
  readonly what: string;
  readonly want: string;
  readonly got: string;
  readonly holds: boolean;
}
