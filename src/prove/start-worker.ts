// Starts the proving process, in a network namespace where the host allows one, else with nothing but loopback addresses.

import { existsSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type ProviderChild, startChild } from "../spawn/child.ts";
import { RUN_MARKER } from "../spawn/environment.ts";
import type { WorkerLine } from "./worker.ts";

export interface Worker {
  readonly child: ProviderChild;
  readonly network: "netns" | "env";
  readonly lines: AsyncIterator<WorkerLine>;
}

/** Brings loopback up in a fresh namespace, then becomes the worker. */
const NAMESPACE_SCRIPT = 'ip link set lo up && exec "$@"';

/** `marker` is carried by everything the worker starts, so that what is left of it can be found. */
export async function startWorker(home: string, marker: string): Promise<Worker> {
  const node = [process.execPath, workerPath()];
  if (process.platform === "linux") {
    const rights = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    const argv = [...rights, "--net", "--", "/bin/sh", "-c", NAMESPACE_SCRIPT, "sh", ...node];
    const inNamespace = await start(["unshare", ...argv], home, marker);
    if (inNamespace?.onlyLoopback === true) return { ...inNamespace, network: "netns" };
    inNamespace?.child.stdin.end();
    await inNamespace?.child.exited;
  }
  const plain = await start(node, home, marker);
  if (plain === undefined) throw new Error("the proving process could not be started");
  return { ...plain, network: "env" };
}

/** Undefined: it could not be started, or ended before it said that it is ready. */
async function start(
  [program, ...argv]: string[],
  home: string,
  marker: string,
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
  const first = await lines.next();
  if (first.done === true || first.value.type !== "ready") {
    await child.exited;
    return undefined;
  }
  return { child, lines, onlyLoopback: first.value.onlyLoopback };
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
