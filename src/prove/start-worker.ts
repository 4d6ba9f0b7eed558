// Starts the proving process, in a network namespace where the host allows one, else with nothing but loopback addresses.

import { existsSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { signalGroup } from "../exec/process-group.ts";
import { type ProviderChild, startChild } from "../spawn/child.ts";
import { RUN_MARKER } from "../spawn/environment.ts";
import { kill } from "../spawn/stop.ts";
import type { WorkerLine } from "./worker.ts";

export interface Worker {
  readonly child: ProviderChild;
  readonly network: "netns" | "env";
  readonly lines: AsyncIterator<WorkerLine>;
}

/** Longest wait for a worker to say that it is there, in milliseconds. */
const READY_MS = 10_000;

/** Brings loopback up in a fresh namespace, then becomes the worker. */
const NAMESPACE_SCRIPT = 'ip link set lo up && exec "$@"';

/** `marker` is carried by everything the worker starts, so that what is left of it can be found. */
export async function startWorker(home: string, marker: string, signal?: AbortSignal): Promise<Worker> {
  const node = [process.execPath, workerPath()];
  if (process.platform === "linux") {
    const rights = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    const argv = [...rights, "--net", "--", "/bin/sh", "-c", NAMESPACE_SCRIPT, "sh", ...node];
    const inNamespace = await start(["unshare", ...argv], { home, marker, signal });
    if (inNamespace?.onlyLoopback === true) return { ...inNamespace, network: "netns" };
    if (inNamespace !== undefined) await discard(inNamespace.child);
    signal?.throwIfAborted();
  }
  const plain = await start(node, { home, marker, signal });
  signal?.throwIfAborted();
  if (plain === undefined) throw new Error("the proving process could not be started");
  return { ...plain, network: "env" };
}

/** Undefined: it could not be started, or ended before it said that it is ready. */
async function start(
  [program, ...argv]: string[],
  { home, marker, signal }: { home: string; marker: string; signal: AbortSignal | undefined },
): Promise<{ child: ProviderChild; lines: AsyncIterator<WorkerLine>; onlyLoopback: boolean } | undefined> {
  const path = [process.env.PATH, dirname(process.execPath), "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
  const env = {
    PATH: path.filter(Boolean).join(delimiter),
    HOME: home,
    LANG: "C.UTF-8",
    [RUN_MARKER]: marker,
  };
  let child: ProviderChild;
  try {
    child = await startChild({ program: program as string, argv, env, cwd: home });
  } catch {
    return undefined; // no such program: the caller tries another way
  }
  const lines = readLines(child);
  const first = await firstLine(lines, signal);
  if (first?.type !== "ready") {
    await discard(child);
    return undefined;
  }
  return { child, lines, onlyLoopback: first.onlyLoopback };
}

/** Undefined: it ended, said something else, took too long, or is no longer wanted. */
async function firstLine(
  lines: AsyncIterator<WorkerLine>,
  signal: AbortSignal | undefined,
): Promise<WorkerLine | undefined> {
  const given = lines.next().then(
    ({ done, value }) => (done === true ? undefined : value),
    () => undefined, // not a line of ours
  );
  const limit = AbortSignal.timeout(READY_MS);
  const ended = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  let onEnd = () => {};
  const late = new Promise<undefined>((resolve) => {
    onEnd = () => resolve(undefined);
    if (ended.aborted) onEnd();
    ended.addEventListener("abort", onEnd, { once: true });
  });
  try {
    return await Promise.race([given, late]);
  } finally {
    ended.removeEventListener("abort", onEnd);
  }
}

async function discard(child: ProviderChild): Promise<void> {
  signalGroup(kill, child.groupId, "SIGKILL");
  await child.exited;
}

async function* readLines(child: ProviderChild): AsyncGenerator<WorkerLine> {
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as WorkerLine;
}

/** The built file: from sources it is looked for in dist, because Node 20 runs no TypeScript. */
function workerPath(): string {
  const beside = fileURLToPath(new URL("./worker.js", import.meta.url));
  if (existsSync(beside)) return beside;
  const built = fileURLToPath(new URL("../../dist/prove/worker.js", import.meta.url));
  if (existsSync(built)) return built;
  throw new Error(`${beside} is missing: run \`npm run build\` first`);
}
