// Run directories and shims for the tests of this folder. Outside /tmp, because a run directory there is refused.

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, read as readCallback } from "node:fs";
import { mkdir, mkdtemp, open, readdir, readlink, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { expect } from "vitest";
import { createRunDirectory, type RunDirectory } from "../../src/broker/run-directory.ts";

const readFd = promisify(readCallback);

export async function makeScratch(): Promise<string> {
  const cache = join(homedir(), ".cache");
  await mkdir(cache, { recursive: true });
  return mkdtemp(join(cache, "bridle-test-"));
}

export async function removeScratch(scratch: string): Promise<void> {
  await rm(scratch, { recursive: true, force: true });
}

export async function makeRunDirectory(scratch: string): Promise<RunDirectory> {
  const cwd = join(scratch, "work");
  const parent = join(scratch, "state");
  await mkdir(cwd, { recursive: true });
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return createRunDirectory({ runId: `run-${randomUUID()}`, cwd, forbidden: [], parent });
}

/** How a provider's handler form brings a shell to the shim; `words` are event, seconds and kind. */
export const SHIM_CALLS: readonly {
  readonly form: string;
  argv(shell: readonly string[], directory: RunDirectory, words: readonly string[]): string[];
}[] = [
  {
    form: "as a program",
    argv: (shell, { shimPath }, words) => [...shell, shimPath, ...words],
  },
  {
    form: "read by a subshell",
    argv: (shell, { path, shimPath }, words) => {
      const quoted = [...words, path].map((word) => `'${word}'`).join(" ");
      return [...shell, "-c", `( set -- ${quoted}; command . '${shimPath}' || exit 1 ); exit $?`];
    },
  },
];

export interface ShellResult {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

export interface ShellCall {
  child: ChildProcess;
  result: Promise<ShellResult>;
}

/** Starts argv with the envelope on stdin; the result comes when the process and its pipes are closed. */
export function start(argv: readonly string[], stdin: string, env: Record<string, string> = {}): ShellCall {
  const [file = "", ...args] = argv;
  // As in a run: without SHLVL bash takes a socket as stdin for a remote login and reads ~/.bashrc.
  const child = spawn(file, args, { env: { PATH: "/usr/bin:/bin", SHLVL: "2", ...env }, stdio: "pipe" });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {}); // the shim may end before it has read everything
  child.stdin.end(stdin);
  const result = new Promise<ShellResult>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, result };
}

/** Waits for a state of the world, with a deadline; never for a length of time. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    if (await holds()) return;
    await delay(10);
  }
  throw new Error(`never came true: ${what}`);
}

/** Opens q as a broker would, at once and before the shim is started: bytes in a FIFO that nobody holds are lost. Reads one request, answers with what the test wants, and waits for the shim's `D`. */
export async function answerOnce(
  directory: RunDirectory,
  reply: (pid: string, slot: string) => string,
): Promise<void> {
  const queue = openSync(directory.requestFifo, "r+");
  try {
    let read = "";
    const more = async () => {
      const { buffer, bytesRead } = await readFd(queue, Buffer.alloc(128), 0, 128, null);
      read += buffer.toString("utf8", 0, bytesRead);
    };
    await more();
    const [, slot = "", pid = ""] = read.split("\n")[0]?.split(" ") ?? [];
    await writeToReader(join(directory.path, "r", slot), reply(pid, slot));
    while (!read.includes(`D ${slot} ${pid}\n`)) await more();
  } finally {
    closeSync(queue);
  }
}

/** Never waits for a reader: on a loaded machine the caller's deadline may have passed. */
async function writeToReader(fifo: string, text: string): Promise<void> {
  try {
    const writer = await open(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
    await writer.writeFile(text);
    await writer.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error;
  }
}

/** A fault is told to a gate, with a reason, and to nobody else. */
export async function expectFault(kind: "GATE" | "OTHER", call: ShellCall): Promise<void> {
  const { code, stdout, stderr } = await call.result;
  expect(stdout).toBe("");
  if (kind === "OTHER") {
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return;
  }
  expect(code).toBe(2);
  expect(stderr).toMatch(/^bridle: [^\n]+; denied\n$/);
}

/** Processes that have a file of this run directory open, for example a shim's sleep. */
export async function holdersOf(directory: RunDirectory): Promise<number[]> {
  const holders: number[] = [];
  for (const name of await readdir("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const fds = await readdir(`/proc/${name}/fd`).catch(() => []); // ended meanwhile
    for (const fd of fds) {
      const target = await readlink(`/proc/${name}/fd/${fd}`).catch(() => "");
      if (target.startsWith(directory.path)) holders.push(pid);
    }
  }
  return [...new Set(holders)];
}

/** The shims that wait for an answer: each reads its reply FIFO, which neither its sleep nor the shell around it does. */
export async function waitingShims(directory: RunDirectory): Promise<number[]> {
  const shims: number[] = [];
  for (const pid of await holdersOf(directory)) {
    const reads = await readlink(`/proc/${pid}/fd/6`).catch(() => ""); // ended meanwhile
    if (reads.startsWith(join(directory.path, "r"))) shims.push(pid);
  }
  return shims;
}

/** A killed shim's sleep lives until its own deadline; a test need not wait for it. */
export async function endSleepers(directory: RunDirectory): Promise<void> {
  for (const pid of await holdersOf(directory)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // ended between the look and the signal
    }
  }
}

export async function claimsOf(directory: RunDirectory): Promise<string[]> {
  return readdir(join(directory.path, "e"));
}
