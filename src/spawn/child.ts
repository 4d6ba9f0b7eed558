// The provider's process: started in its own group, in a PID namespace where there is a recipe, its pipes read, its exit noted. Ends
// nothing by itself.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { explainSpawnFailure } from "../exec/explain-spawn-failure.ts";
import { takeStartTurn } from "../exec/start-turn.ts";
import { type TreeWatch, watchTree } from "../exec/tree-watch.ts";
import { createByteRing } from "./byte-ring.ts";
import { type NamespaceRecipe, RELEASE, waitForNamespace } from "./namespace-recipe.ts";
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

export interface ChildOptions {
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Record<string, string>;
  readonly cwd: string;
  /** Of the namespace that it is to live in. @default none */
  readonly recipe?: NamespaceRecipe | undefined;
  /** The caller has taken its turn (exec/start-turn.ts). @default false */
  readonly hasTurn?: boolean;
}

/** What is to become the CLI: its namespace is being made, and waits. It ends with this process. */
export interface HeldChild extends Pick<ProviderChild, "pid" | "groupId" | "exited"> {
  /** Starts the CLI. To be called once. Rejects when its namespace does not come. */
  release(): Promise<ProviderChild>;
  /** Sends KILL to what there is. */
  kill(): void;
}

/** Rejects when the program cannot be started, or its namespace does not come. */
export async function startChild({
  onSpawned = () => {},
  ...options
}: ChildOptions & {
  /** Told at once when the process is there, before its namespace is looked for. @default nobody */
  readonly onSpawned?: (started: Pick<ProviderChild, "pid" | "groupId">) => void;
}): Promise<ProviderChild> {
  const { program, argv, recipe } = options;
  if (recipe !== undefined) {
    const held = await holdChild({ ...options, recipe });
    onSpawned(held);
    return held.release();
  }
  const opened = await openChild(program, argv, options);
  onSpawned(opened);
  const tree = watchTree(opened);
  // Just reaped: nobody else can have the group's id yet.
  void opened.exited.then(() => tree.look({ isGroupOurs: true }));
  return toProviderChild(opened, { cliPid: opened.pid, tree, namespace: undefined, exited: opened.exited });
}

/** Rejects when the namespace's maker cannot be started. */
export async function holdChild({
  program,
  argv,
  recipe,
  ...options
}: ChildOptions & { readonly recipe: NamespaceRecipe }): Promise<HeldChild> {
  const [file = "", ...words] = [...recipe.prefix, program, ...argv];
  const opened = await openChild(file, words, options);
  const { pid, groupId, exited, stdin } = opened;
  const kill = () => {
    if (!opened.hasExited) process.kill(-pid, "SIGKILL"); // not reaped: the group is still its own
  };
  return {
    pid,
    groupId,
    exited,
    kill,
    async release() {
      stdin.write(RELEASE);
      const namespace = await waitForNamespace(pid, exited, NAMESPACE_MS);
      if (namespace === undefined && !opened.hasExited) {
        kill();
        throw new Error(`the PID namespace did not come within ${NAMESPACE_MS} ms`);
      }
      return toProviderChild(opened, {
        cliPid: namespace?.cli.pid ?? pid,
        tree: undefined,
        namespace,
        exited: exited.then(({ code, signal }) => exitInside(code, signal)),
      });
    },
  };
}

interface OpenedChild extends Pick<ProviderChild, "pid" | "groupId" | "stdin" | "stdout" | "stderrTail"> {
  readonly exited: Promise<ChildExit>;
  readonly hasExited: boolean;
}

async function openChild(
  file: string,
  words: readonly string[],
  { env, cwd, hasTurn = false }: Pick<ChildOptions, "env" | "cwd" | "hasTurn">,
): Promise<OpenedChild> {
  if (!hasTurn) await takeStartTurn();
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(file, words, {
    cwd,
    env,
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  let hasExited = false;
  const exited = new Promise<ChildExit>((resolve) => {
    child.once("exit", (code, signal) => {
      hasExited = true;
      resolve({ code, signal });
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
  const pid = child.pid as number;
  return {
    pid,
    groupId: pid,
    stdin: child.stdin,
    stdout: child.stdout,
    exited,
    get hasExited() {
      return hasExited;
    },
    stderrTail: keepTail(child.stderr, STDERR_RING_BYTES),
  };
}

function toProviderChild(
  opened: OpenedChild,
  rest: Pick<ProviderChild, "cliPid" | "tree" | "namespace" | "exited">,
): ProviderChild {
  const { pid, groupId, stdin, stdout, stderrTail } = opened;
  return {
    pid,
    groupId,
    stdin,
    stdout,
    stderrTail,
    get hasExited() {
      return opened.hasExited;
    },
    ...rest,
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
