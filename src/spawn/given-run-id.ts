// A run id that was chosen before the run: so that whoever starts it can write down which run belongs to which work before there is a
// process. Internal: no option of the public list.

import { randomUUID } from "node:crypto";
import type { SpawnOptions } from "./options.ts";

/** A symbol, so that it is no option that can be misspelt, and goes along when options are copied. */
const GIVEN_RUN_ID: unique symbol = Symbol("agent-bridle.runId");

type WithRunId = SpawnOptions & { readonly [GIVEN_RUN_ID]?: string };

export function mintRunId(): string {
  return randomUUID();
}

/** @param runId from `mintRunId`, and never given twice. */
export function withRunId(options: SpawnOptions, runId: string): SpawnOptions {
  const withId: WithRunId = { ...options, [GIVEN_RUN_ID]: runId };
  return withId;
}

export function runIdOf(options: SpawnOptions): string {
  return (options as WithRunId)[GIVEN_RUN_ID] ?? mintRunId();
}
