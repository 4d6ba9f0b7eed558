// Ready hooks in both worlds: in a chain, on an envelope without a provider, and in a run of a fake agent.

import { onTestFinished } from "vitest";
import { type ChainStep, runChain } from "../../src/broker/chain.ts";
import { createChainSession } from "../../src/broker/chain-session.ts";
import type { CompiledFunction } from "../../src/compiler/plan.ts";
import {
  compileAgentHooks,
  type FunctionEntry,
  type HookDeclaration,
  type Provider,
  spawnAgent,
} from "../../src/index.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import type { EventName } from "../../src/profile/events.ts";
import type { Verdict } from "../../src/profile/verdict.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";

export const PROVIDERS = ["claude", "codex"] as const;

/** As a program without any provider would make it. */
export function envelopeOf(event: EventName, fields: JsonObject, cwd = "/home/dev/project"): Envelope {
  return {
    session_id: "s",
    cwd,
    hook_event_name: event,
    harness: "lionagi",
    profile: "v1",
    run_id: "r",
    ...fields,
  };
}

export const shellCall = (command: string, fields: JsonObject = {}): JsonObject => ({
  tool_name: "Bash",
  tool_kind: "shell",
  tool_input: { command },
  tool_command: command,
  ...fields,
});

export const editCall = (path: string, fields: JsonObject = {}): JsonObject => ({
  tool_name: "Write",
  tool_kind: "edit",
  tool_input: { file_path: path, content: "x" },
  tool_paths: [path],
  ...fields,
});

export interface Asked {
  readonly verdict: Verdict;
  readonly steps: readonly ChainStep[];
  /** Empty when it does not deny. */
  readonly reason: string;
}

/** One entry asked about one envelope, as the chain asks it. */
export async function askHook(
  entry: FunctionEntry,
  event: EventName,
  fields: JsonObject,
  {
    cwd,
    session = createChainSession(),
  }: { cwd?: string; session?: ReturnType<typeof createChainSession> } = {},
): Promise<Asked> {
  const envelope = envelopeOf(event, fields, cwd);
  const compiled: CompiledFunction = {
    id: `${event}[0].hooks[0]`,
    event,
    matcher: undefined,
    timeoutMs: (entry.timeout ?? 60) * 1000,
    onFailure: entry.on_failure ?? "closed",
    grants: false,
    type: "function",
    name: entry.name ?? "",
    handler: entry.handler,
  };
  const { verdict, steps } = await runChain({
    session,
    event,
    envelope,
    entries: [compiled],
    cwd: envelope.cwd,
    hookEnv: { PATH: "/usr/bin:/bin", BRIDLE_RUN_ID: "r" },
    marker: "m",
    signal: new AbortController().signal,
    deadlineMs: 60_000,
    checkFiles: async () => [],
    onStep: () => {},
  });
  return { verdict, steps, reason: verdict.decision === "deny" ? verdict.reason : "" };
}

/** A home and a working directory that go away with the test. */
export async function placeForTest(): Promise<Place> {
  const place = await makePlace();
  onTestFinished(() => place.remove());
  return place;
}

/** A run of a fake agent under the hooks, to its end; `denied`: the events of the verdicts that denied. */
export async function runFake(
  place: Place,
  provider: Provider,
  declaration: HookDeclaration,
  script: FakeScript,
  prompt = "hello",
) {
  const { binary } = await createFakeProvider({ provider, script, directory: `${place.home}/fakes` });
  const hooks = await compileAgentHooks(declaration, { provider, cwd: place.cwd, binary, prove: "off" });
  const denied: string[] = [];
  const run = await spawnAgent({
    hooks,
    prompt,
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: (line) => {
      if (line.kind === "verdict" && line.decision === "deny") denied.push(line.event);
    },
  });
  const events: string[] = [];
  for await (const event of run) events.push(JSON.stringify(event));
  return { result: await run.result, denied, events: events.join("\n") };
}

export function thrownBy(make: () => unknown): Error {
  try {
    make();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
