// A named lock of a user, for programs that a timer starts: one holder at a time, for as long as its process lives and not a moment longer.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { OWNER_PATTERN, removeAbandoned } from "../exec/owner-name.ts";
import { presenceOf } from "../journal/process-identity.ts";
import { makeDirectories } from "../make-directories.ts";
import { invalidOption, readOptions } from "../receipts/check-arguments.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { takeTurn } from "../supervisor/take-turn.ts";
import { clearDeadHolder } from "./dead-holder.ts";
import {
  type LockRecord,
  lockDirectory,
  makeLock,
  ownRecord,
  readLock,
  removeLock,
  replaceLock,
} from "./lock-file.ts";

export interface HoldLockOptions {
  /** How long a lock that is held is waited for, in milliseconds; 0 asks once, Infinity waits for ever. @default 0 */
  readonly waitMs?: number;
  /** Ends the wait: the returned promise rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Absolute. @default `$XDG_STATE_HOME/bridle`, else `~/.local/state/bridle` */
  readonly stateDir?: string;
  /** For the `agent_exit` hooks of a dead holder's runs. @default process.env */
  readonly env?: NodeJS.ProcessEnv;
}

export interface LockHolder {
  /** Undefined where that cannot be told. */
  readonly pid?: number;
  /** UTC, ISO 8601. */
  readonly since?: string;
  /** For a person: who holds it, and why it is not free. */
  readonly detail: string;
}

export type HeldLock =
  | {
      readonly isHeld: true;
      /** Of the lock. Absolute. */
      readonly path: string;
      /** Gives it back. May be called again. */
      release(): void;
    }
  | { readonly isHeld: false; readonly path: string; readonly holder: LockHolder };

const NAME_MAX = 200;
const POLL_MS = 200;
/** Longest wait for others that look at the same lock: each looks for a moment. */
const TURN_MS = 30_000;
const UNFINISHED = new RegExp(`^[0-9a-f]{32}\\.json\\.[0-9a-f-]{36}\\.(${OWNER_PATTERN})\\.new$`);

/**
 * Takes the lock of this name, of this user (by state directory). A lock whose holder is dead is free: what that one left of runs is ended and
 * recovered first.
 *
 * @throws AgentHooksRefused `option_invalid`; the signal's reason; the system's error where no lock can be made.
 * @example
 * const lock = await holdLock("nightly");
 * if (!lock.isHeld) console.log(lock.holder.detail);
 */
export async function holdLock(name: string, options: HoldLockOptions = {}): Promise<HeldLock> {
  const { waitMs, signal, stateDir, env } = checkOptions(name, options);
  const folder = lockDirectory(stateDir);
  const path = join(folder, `${createHash("sha256").update(name).digest("hex").slice(0, 32)}.json`);
  await makeDirectories(folder);
  await removeAbandoned(folder, UNFINISHED);
  const record = ownRecord(name);
  const until = performance.now() + waitMs;
  for (;;) {
    signal.throwIfAborted();
    const holder = await tryOnce(path, record, { stateDir, env, signal });
    if (holder === undefined) return { isHeld: true, path, release: () => removeLock(path, record) };
    if (performance.now() >= until) return { isHeld: false, path, holder };
    await delay(POLL_MS, undefined, { signal }).catch(() => {}); // told above
  }
}

/** Undefined: it is ours. */
async function tryOnce(
  path: string,
  record: LockRecord,
  { stateDir, env, signal }: { stateDir: string; env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<LockHolder | undefined> {
  if (makeLock(path, record)) return undefined;
  const seen = readLock(path);
  // Given back meanwhile: the next look takes it.
  if (seen === undefined) return makeLock(path, record) ? undefined : { detail: "it changes hands" };
  if (typeof seen === "string") return { detail: `${path} ${seen}: remove it when nothing holds the lock` };
  const { pid } = seen.holder;
  const who = { pid, since: seen.since };
  const presence = presenceOf(seen.holder);
  if (presence === "alive") return { ...who, detail: `held by pid ${pid} since ${seen.since}` };
  if (presence === "elsewhere")
    return {
      ...who,
      detail: `held by pid ${pid} on another machine or in another pid namespace since ${seen.since}; when that one is dead, remove ${path}`,
    };
  const left = presence === "gone" ? await clearDeadHolder(seen.holder, { stateDir, env }) : undefined;
  if (left !== undefined) return { ...who, detail: `its holder, pid ${pid}, is dead, but ${left}` };
  const leave = await takeTurn({ path, waitMs: TURN_MS, signal });
  try {
    return replaceLock(path, seen, record) ? undefined : { detail: "another program was quicker" };
  } finally {
    await leave();
  }
}

function checkOptions(name: unknown, options: HoldLockOptions) {
  if (typeof name !== "string" || name.trim() === "" || name.length > NAME_MAX)
    throw invalidOption("name", name, `a word of at most ${NAME_MAX} characters`);
  const known = ["waitMs", "signal", "stateDir", "env"] as const;
  const given = readOptions(options, { what: "options", known });
  const { waitMs = 0, signal = new AbortController().signal, env = process.env } = given;
  if (typeof waitMs !== "number" || Number.isNaN(waitMs) || waitMs < 0)
    throw invalidOption("waitMs", waitMs, "milliseconds, 0 or more");
  if (!(signal instanceof AbortSignal)) throw invalidOption("signal", signal, "an AbortSignal");
  if (typeof env !== "object" || env === null) throw invalidOption("env", env, "an environment");
  const { stateDir = stateDirectory(env as NodeJS.ProcessEnv) } = given;
  if (typeof stateDir !== "string") throw invalidOption("stateDir", stateDir, "an absolute path");
  return { waitMs, signal, stateDir, env: env as NodeJS.ProcessEnv };
}
