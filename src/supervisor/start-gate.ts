// Starts that share files of the user's take turns. claude reads, changes and writes the user's home while it starts, and without its lock
// when others hold that for long (C-47); codex may refresh the one login that all runs are lent. A run with a home of its own
// shares nothing and needs no turn.

import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { refuseIfAny } from "../errors.ts";
import type { Provider } from "../profile/events.ts";
import { removeStaleLocks, TurnNotCome, takeTurn } from "./take-turn.ts";

/** `auto`: starts that share the user's claude home or codex login take turns. `off`: they do not. */
export type StartGate = "auto" | "off";

/** As long as the starts of another process need to see the gate free. */
const REST_MS = 25;

export interface GateOptions {
  readonly gate: StartGate;
  readonly provider: Provider;
  readonly configHome: "user" | "run";
  /** The agent's. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** codex: where its login is linked. */
  readonly providerHome: string;
  readonly stateDir: string;
  /** Longest wait for the starts of other processes. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** The gate cannot be made: the start goes on without it. */
  readonly onOpen: (why: string) => void;
}

/**
 * Runs a start when it is its turn.
 *
 * @throws AgentHooksRefused `config_home_busy` when the starts of other processes did not let it through in time; the signal's reason;
 *   and what the start throws.
 */
export async function passStartGate<Started>(
  options: GateOptions,
  start: () => Promise<Started>,
): Promise<Started> {
  const { gate, stateDir, waitMs, signal, onOpen } = options;
  const shared = gate === "off" ? undefined : findShared(options);
  if (shared === undefined) return start();
  const name = createHash("sha256").update(shared).digest("hex").slice(0, 32);
  const release = await takeTurn({
    path: join(gateDirectory(stateDir), name),
    waitMs,
    restMs: REST_MS,
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) throw signal.reason;
    if (error instanceof TurnNotCome) refuseIfAny([describeBusy(shared, error)]);
    onOpen(String(error));
    return async () => {};
  });
  try {
    return await start();
  } finally {
    await release();
  }
}

/** Removes the gates that dead programs have held. Never rejects. */
export async function removeStaleGates(stateDir: string): Promise<void> {
  await removeStaleLocks(gateDirectory(stateDir));
}

function gateDirectory(stateDir: string): string {
  return join(stateDir, "starts");
}

/** Real path of what the starts share; undefined: nothing. */
function findShared({ provider, configHome, env, providerHome }: GateOptions): string | undefined {
  if (configHome === "run") return undefined;
  if (provider === "codex") return realPath(join(providerHome, "auth.json")); // undefined: no login
  const home = env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), ".claude");
  return realPath(home) ?? home; // claude makes it
}

/** At once, so that starts take their turns in the order they came. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined; // not there
  }
}

function describeBusy(shared: string, { message }: TurnNotCome) {
  return {
    code: "config_home_busy",
    path: "configHome",
    message: `other starts use ${shared}: ${message}`,
    hint: 'raise deadlines.attestMs, give the run a home of its own (configHome: "run"), or say startGate: "off"',
  } as const;
}
