// The provider's process: started in its own group, in a PID namespace where there is a recipe, its pipes read, its exit noted. Ends
// nothing by itself.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { explainSpawnFailure } from "../exec/explain-spawn-failure.ts";
import { takeStartTurn } from "../exec/start-turn.ts";
import { type TreeWatch, watchTree } from "../exec/tree-watch.ts";
import { createByteRing } from "./byte-ring.ts";
import { type NamespaceRecipe, waitForNamespace } from "./namespace-recipe.ts";
import type { PidNamespace } from "./pid-namespace.ts";

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProviderChild {
  /** Of what was started: the CLI, or what holds its namespace. Ending it ends both. */
  readonly pid: number;
  /** Of the CLI itself, as seen from here. */
  readonly cliPid: number;
  /** Equal to `pid`: the child leads its group, and the id is kept after the leader is gone. */
  readonly groupId: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<ChildExit>;
  /** True once it is reaped: from then on its pid may be another's. */
  readonly hasExited: boolean;
  /** Undefined without a recipe, and when the CLI was gone before it was seen. */
  readonly namespace: PidNamespace | undefined;
  /** Undefined in a namespace, which knows its members better. */
  readonly tree: TreeWatch | undefined;
  /** Last bytes of stderr as text. */
  stderrTail(): string;
}

/** Bytes of stderr kept. */
export const STDERR_RING_BYTES = 256 * 1024;

/** How long the namespace's CLI is waited for. */
const NAMESPACE_MS = 10_000;

/** Rejects when the program cannot be started, or its namespace does not come. */
export async function startChild({
  program,
  argv,
  env,
  cwd,
  recipe,
  hasTurn = false,
  onSpawned = () => {},
}: {
  program: string;
  argv: readonly string[];
  env: Record<string, string>;
  cwd: string;
  /** Of the namespace that it is to live in. @default none */
  recipe?: NamespaceRecipe | undefined;
  /** The caller has taken its turn (exec/start-turn.ts). @default false */
  hasTurn?: boolean;
  /** Told at once when the process is there, before its namespace is looked for. @default nobody */
  onSpawned?: (started: Pick<ProviderChild, "pid" | "groupId">) => void;
}): Promise<ProviderChild> {
  if (!hasTurn) await takeStartTurn();
  const [file = program, ...words] = [...(recipe?.prefix ?? []), program, ...argv];
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(file, words, {
    cwd,
    env,
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  let hasExited = false;
  let tree: TreeWatch | undefined;
  const exited = new Promise<ChildExit>((resolve) => {
    child.once("exit", (code, signal) => {
      hasExited = true;
      // Just reaped: nobody else can have the group's id yet.
      tree?.look({ isGroupOurs: true });
      resolve(recipe === undefined ? { code, signal } : exitInside(code, signal));
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) =>
      reject(new Error(`spawn_failed: ${explainSpawnFailure({ file, cwd, error })}`, { cause: error })),
    );
  });
  // A child that exits before it reads closes the pipe; its exit says what happened, not EPIPE.
  child.stdin.on("error", () => {});
  const ring = keepTail(child.stderr, STDERR_RING_BYTES);
  const pid = child.pid as number;
  onSpawned({ pid, groupId: pid });
  const namespace = recipe === undefined ? undefined : await waitForNamespace(pid, exited, NAMESPACE_MS);
  if (recipe !== undefined && namespace === undefined && !hasExited) {
    process.kill(-pid, "SIGKILL"); // not reaped: the group is still its own
    throw new Error(`the PID namespace did not come within ${NAMESPACE_MS} ms`);
  }
  if (namespace === undefined) tree = watchTree({ pid, groupId: pid });
  return {
    pid,
    cliPid: namespace?.cli.pid ?? pid,
    groupId: pid,
    stdin: child.stdin,
    stdout: child.stdout,
    exited,
    get hasExited() {
      return hasExited;
    },
    namespace,
    tree,
    stderrTail: ring,
  };
}

/** Signals that a CLI does not turn into an exit code of its own, as claude does with SIGTERM (143). */
const KILLING = ["SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGSYS"] as const;

/** The namespace's shell tells a CLI that died of signal n as exit 128 + n. */
export function exitInside(code: number | null, signal: NodeJS.Signals | null): ChildExit {
  const by = code === null ? undefined : KILLING.find((name) => constants.signals[name] === code - 128);
  return by === undefined ? { code, signal } : { code: null, signal: by };
}

function keepTail(stream: Readable, limit: number): () => string {
  const ring = createByteRing(limit);
  stream.on("data", (chunk: Buffer) => ring.push(chunk));
  stream.on("error", () => {}); // a broken stderr pipe says nothing that the exit does not
  return () => ring.text();
}
