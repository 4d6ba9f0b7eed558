// The provider's process: started in its own group, its pipes read, its exit noted. Starts nothing else and ends nothing by itself.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProviderChild {
  readonly pid: number;
  /** Equal to `pid`: the child leads its group, and the id is kept after the leader is gone. */
  readonly groupId: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<ChildExit>;
  /** Last bytes of stderr as text. */
  stderrTail(): string;
}

/** Bytes of stderr kept. */
export const STDERR_RING_BYTES = 64 * 1024;

/** Rejects when the program cannot be started. */
export async function startChild({
  program,
  argv,
  env,
  cwd,
}: {
  program: string;
  argv: readonly string[];
  env: Record<string, string>;
  cwd: string;
}): Promise<ProviderChild> {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(program, argv, {
    cwd,
    env,
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  const exited = new Promise<ChildExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  // A child that exits before it reads closes the pipe; its exit says what happened, not EPIPE.
  child.stdin.on("error", () => {});
  const ring = keepTail(child.stderr, STDERR_RING_BYTES);
  const pid = child.pid as number;
  return { pid, groupId: pid, stdin: child.stdin, stdout: child.stdout, exited, stderrTail: ring };
}

function keepTail(stream: Readable, limit: number): () => string {
  let tail = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]);
    if (tail.length > limit) tail = Buffer.from(tail.subarray(tail.length - limit));
  });
  stream.on("error", () => {}); // a broken stderr pipe says nothing that the exit does not
  return () => tail.toString("utf8");
}
