// Runs of fakes of the testkit under a declaration, through the same two calls a program makes.

import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type AgentEvent,
  AgentHooksRefused,
  type AgentRun,
  compileAgentHooks,
  type FunctionEntry,
  type Provider,
  type SpawnOptions,
  spawnAgent,
} from "../../src/index.ts";
import type { StampedReceipt } from "../../src/receipts/receipt.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import type { Place } from "../spawn/support.ts";

export type Handler = FunctionEntry["handler"];

export const DENIAL = {
  hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "not today" },
};
export const deny: Handler = () => DENIAL;
/** Says no where no tool is asked about: on a prompt, on Stop. */
export const block: Handler = () => ({ decision: "block", reason: "not today" });
export const admit: Handler = () => undefined;
/** Runs `touch rewritten` in place of every command. */
export const rewrite: Handler = ({ tool_input: input }) => ({
  hookSpecificOutput: { updatedInput: { ...(input as object), command: "touch rewritten" } },
});

export interface Play {
  readonly provider: Provider;
  readonly script: FakeScript;
  /** How claude's hooks ask. @default shim */
  readonly transport?: "callbacks" | "shim";
  /** By event; `PreToolUse` admits when it is not given. */
  readonly handlers?: Record<string, Handler>;
  readonly options?: Partial<SpawnOptions>;
  /** Called with every message of the model. */
  readonly onMessage?: (run: AgentRun) => void;
  /** Makes the executable that is started from the fake's own. @default the fake's own */
  readonly wrap?: (binary: string) => Promise<string>;
}

export interface Seen {
  readonly receipts: StampedReceipt[];
  readonly exits: string[];
}

/** The token of a fake: every handler by its event, and one of `agent_exit` that notes the outcome. */
export async function compileFake(
  place: Place,
  { provider, script, transport = "shim", handlers = {}, wrap }: Play,
  exits: string[] = [],
) {
  const fake = await createFakeProvider({ provider, script, directory: join(place.home, "fakes") });
  const binary = (await wrap?.(fake.binary)) ?? fake.binary;
  const noteExit: Handler = ({ outcome }) => void exits.push(String(outcome));
  const declared = Object.entries({ PreToolUse: admit, agent_exit: noteExit, ...handlers });
  return compileAgentHooks(
    Object.fromEntries(
      declared.map(([event, handler]) => [event, [{ hooks: [{ type: "function" as const, handler }] }]]),
    ),
    { provider, cwd: place.cwd, binary, prove: "off", transport },
  );
}

export async function start(place: Place, what: Play) {
  const seen: Seen = { receipts: [], exits: [] };
  const hooks = await compileFake(place, what, seen.exits);
  const starting = spawnAgent({
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: (line) => void seen.receipts.push(line),
    ...what.options,
  });
  return { starting, seen };
}

/** One run to its end. */
export async function play(place: Place, what: Play) {
  const { starting, seen } = await start(place, what);
  const run = await starting;
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (event.type === "message") what.onMessage?.(run);
  }
  return { run, result: await run.result, events, seen };
}

/** The codes of a start that is refused. */
export async function refusalOf(place: Place, what: Play) {
  const { starting, seen } = await start(place, what);
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AgentHooksRefused)) throw new Error(`expected a refusal, got ${String(error)}`);
  return { issues: error.issues, codes: [...new Set(error.issues.map(({ code }) => code))], seen };
}

export const isThere = (place: Place, name: string) => existsSync(join(place.cwd, name));
