// Entries, an envelope and terms for tests of chains.

import type { ChainOptions } from "../../src/broker/chain.ts";
import type { ChainSession } from "../../src/broker/chain-session.ts";
import type { CompiledCommand, CompiledFunction } from "../../src/compiler/plan.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";

/** A call of the shell as claude makes it. */
export const SHELL_CALL: Envelope = {
  session_id: "s",
  cwd: "/",
  hook_event_name: "PreToolUse",
  harness: "lionagi",
  profile: "v1",
  run_id: "r",
  provider: "claude",
  tool_name: "Bash",
  tool_input: { command: "ls" },
};

/** What a chain is run with where a test says nothing else. */
export function chainTerms(session: ChainSession): Omit<ChainOptions, "entries" | "onStep"> {
  return {
    event: "PreToolUse",
    envelope: SHELL_CALL,
    cwd: "/",
    hookEnv: { PATH: "/usr/bin:/bin", BRIDLE_RUN_ID: "run" },
    marker: "m",
    signal: new AbortController().signal,
    deadlineMs: 20_000,
    checkFiles: async () => [],
    session,
  };
}

let made = 0;

/** The terms that every entry has, under an id of its own. */
export function terms(): Omit<CompiledFunction, "type" | "name" | "handler"> {
  made += 1;
  return {
    id: `PreToolUse[${made}]`,
    event: "PreToolUse",
    matcher: undefined,
    timeoutMs: 10_000,
    onFailure: "closed",
    grants: false,
  };
}

export function fn(
  handler: CompiledFunction["handler"],
  more: Partial<CompiledFunction> = {},
): CompiledFunction {
  return { ...terms(), type: "function", name: "f", handler, ...more };
}

export function commandEntryOf(
  argv: readonly string[],
  more: Partial<CompiledCommand> = {},
): CompiledCommand {
  return { ...terms(), type: "command", argv, argv0: argv[0] ?? "", env: {}, files: [], ...more };
}
