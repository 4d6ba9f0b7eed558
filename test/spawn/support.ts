// Runs of fake CLIs in a home of their own. The home lies outside /tmp, because a run directory there is refused.

import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileAgentHooks, type FunctionEntry, type SpawnOptions, spawnAgent } from "../../src/index.ts";
import type { StampedReceipt } from "../../src/receipts/receipt.ts";

export interface Place {
  readonly home: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

export async function makePlace(): Promise<Place> {
  const cache = join(homedir(), ".cache");
  await mkdir(cache, { recursive: true });
  const home = await mkdtemp(join(cache, "bridle-spawn-test-"));
  const cwd = join(home, "work");
  await mkdir(cwd);
  return {
    home,
    cwd,
    env: { PATH: process.env.PATH, HOME: home },
    remove: () => rm(home, { recursive: true, force: true }),
  };
}

export const fakePath = (name: string) => fileURLToPath(new URL(`../fakes/${name}.mjs`, import.meta.url));

export interface Seen {
  readonly receipts: StampedReceipt[];
  /** Outcomes that agent_exit was told, one a call. */
  readonly exits: string[];
}

const admit: FunctionEntry["handler"] = () => undefined;

export async function compileFake(
  fake: string,
  { cwd }: Place,
  seen: Seen,
  handlers: Record<string, FunctionEntry["handler"]> = {},
) {
  const noteExit: FunctionEntry["handler"] = ({ outcome }) => {
    seen.exits.push(String(outcome));
    return undefined;
  };
  const declared = Object.entries({ PreToolUse: admit, agent_exit: noteExit, ...handlers });
  const declaration = Object.fromEntries(
    declared.map(([event, handler]) => [event, [{ hooks: [{ type: "function" as const, handler }] }]]),
  );
  return compileAgentHooks(declaration, { provider: "claude", cwd, binary: fakePath(fake), prove: "off" });
}

export async function startFake(
  fake: string,
  place: Place,
  options: Partial<SpawnOptions> & { handlers?: Record<string, FunctionEntry["handler"]> } = {},
) {
  const { handlers, ...rest } = options;
  const seen: Seen = { receipts: [], exits: [] };
  const hooks = await compileFake(fake, place, seen, handlers);
  const starting = spawnAgent({
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: (line) => void seen.receipts.push(line),
    ...rest,
  });
  return { starting, seen };
}

/** What runs have left in the state directory. */
export async function leftovers({ home }: Place): Promise<string[]> {
  const runs = join(home, ".local", "state", "bridle", "run");
  return existsSync(runs) ? readdir(runs) : [];
}

/** A killed process that nobody has reaped yet is dead too. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false; // no such process
  }
}
