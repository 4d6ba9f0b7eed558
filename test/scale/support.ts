// Workers in processes of their own, from the built sources, and agents that show by a lock of the kernel that no two are in one directory.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import type { AgentJob, AgentWorkerOptions } from "../../src/bullmq/index.ts";
import type { HookDeclaration } from "../../src/index.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";

export const DIST = inject("dist");

export interface Scene {
  readonly place: Place;
  /** Directories of the jobs, each empty. */
  readonly workspaces: readonly string[];
  /** Appends what it is told of each agent_exit to `exits` in the home. */
  readonly declaration: HookDeclaration;
  /** Agents as binaries, by name. */
  readonly binaries: Readonly<Record<string, string>>;
  job(changes: Pick<AgentJob, "declaration"> & Partial<AgentJob>): AgentJob;
  exits(): { runId: string; outcome: string; recovered: boolean }[];
  /** Lines of the agents, in the order they came: `start NAME`, `end`, `OVERLAP`. */
  agentLog(workspace: string): string[];
  /** Workspaces in which a process of an agent holds the lock now. */
  remove(): Promise<void>;
}

const SHELL_PROMPT: FakeScript = { steps: [{ text: "{{prompt}}" }] };

export async function makeScene({
  workspaces: count = 1,
  scripts = { quick: SHELL_PROMPT },
}: {
  workspaces?: number;
  scripts?: Record<string, FakeScript>;
} = {}): Promise<Scene> {
  const place = await makePlace();
  const { home } = place;
  const workspaces: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const folder = join(home, "workspaces", `w${index}`);
    await mkdir(folder, { recursive: true });
    workspaces.push(await realpath(folder));
  }
  const noteExit = join(home, "note-exit.sh");
  // One write a line: several append at a time.
  await writeFile(noteExit, `#!/bin/sh\nline=$(cat)\nprintf '%s\\n' "$line" >>'${home}/exits'\n`);
  await chmod(noteExit, 0o755);
  const binaries: Record<string, string> = {};
  for (const [name, script] of Object.entries(scripts)) {
    const fake = await createFakeProvider({
      provider: "claude",
      script,
      directory: join(home, "fakes"),
      name,
    });
    binaries[name] = await wrapInLock(fake.binary);
  }
  const read = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : []);
  return {
    place,
    workspaces,
    binaries,
    declaration: { agent_exit: [{ hooks: [{ type: "command", command: [noteExit] }] }] },
    job: (changes) => ({ prompt: "hello", provider: "claude", cwd: workspaces[0] ?? "", ...changes }),
    exits: () =>
      read(join(home, "exits")).map((line) => {
        const { run_id: runId, outcome, recovered } = JSON.parse(line) as Record<string, unknown>;
        return { runId: String(runId), outcome: String(outcome), recovered: recovered === true };
      }),
    agentLog: (workspace) => read(join(workspace, "agent.log")),
    remove: () => place.remove(),
  };
}

/**
 * The agent's own process holds an exclusive lock on a file of its directory from its first instruction until the kernel has ended it: who
 * comes while it is held writes OVERLAP.
 */
async function wrapInLock(binary: string): Promise<string> {
  const wrapper = binary.replace(/\.mjs$/, "-locked");
  await writeFile(
    wrapper,
    [
      "#!/bin/sh",
      FAKE_PROVIDER_MARK,
      `case "$*" in *--version*) exec '${binary}' "$@" ;; esac`,
      'exec 9>>"$PWD/agent.lock"',
      'flock -n 9 || echo "OVERLAP $$" >>"$PWD/agent.log"',
      'echo "start $$" >>"$PWD/agent.log"',
      'echo "$*" >>"$PWD/agent.args"',
      `exec '${binary}' "$@"`,
      "",
    ].join("\n"),
  );
  await chmod(wrapper, 0o755);
  return wrapper;
}

/** Run ids of all runs that were admitted, open and ended. */
export function admittedRuns({ home }: Place): string[] {
  const journal = join(home, ".local", "state", "bridle", "journal");
  const list = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);
  return [...list(journal), ...list(join(journal, "ended"))]
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => file.slice(0, -".jsonl".length))
    .sort();
}

const PROGRAM = `
import { writeSync } from "node:fs";
const { dist, options } = JSON.parse(process.argv[2]);
const { createAgentWorker } = await import(dist + "/bullmq/index.js");
const say = (line) => writeSync(1, JSON.stringify(line) + "\\n");
const worker = await createAgentWorker({
  ...options,
  env: { PATH: process.env.PATH, HOME: process.env.HOME },
  onProblem: (problem) => say({ problem }),
});
say({ ready: true });
process.stdin.setEncoding("utf8").on("data", async (text) => {
  for (const line of text.trim().split("\\n")) {
    const [word, ms] = line.split(" ");
    // The event loop stands still: nothing of this thread runs until then.
    if (word === "stall") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms));
    if (word === "close") {
      await worker.close();
      say({ closed: true });
      process.exit(0);
    }
  }
});
`;

export interface WorkerProgram {
  readonly child: ChildProcess;
  readonly said: Record<string, unknown>[];
  /** What went wrong and is no job's outcome, as JSON. */
  problems(): string[];
  errors(): string;
  tell(line: string): void;
  kill(signal: NodeJS.Signals): void;
  ended(): Promise<void>;
  /** Tells it to close and waits for its end. */
  close(): Promise<void>;
}

const running = new Set<ChildProcess>();

/** Ends what a failed test left. */
export async function endWorkers(): Promise<void> {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  running.clear();
}

let lastProgram = 0;

/** For tests that lose leases. */
export const SHORT_LEASE = { leaseMs: 2_000, stallMs: 1_000 } as const;

export async function startWorker(
  { place, binaries }: Scene,
  options: Pick<AgentWorkerOptions, "connection" | "name"> & Partial<AgentWorkerOptions>,
  { agent = "quick" }: { agent?: string } = {},
): Promise<WorkerProgram> {
  const file = join(place.home, `worker-${lastProgram++}.mjs`);
  await writeFile(file, PROGRAM);
  const told: AgentWorkerOptions = {
    allow: "any",
    concurrency: 2,
    // On a busy machine nothing but what a test does to it loses a lease.
    leaseMs: 10_000,
    stallMs: 30_000,
    busyDelayMs: 150,
    progressMs: 50,
    compile: { prove: "off" },
    binaries: { claude: binaries[agent] ?? "" },
    run: { startGate: "off", containment: "sweep" },
    ...options,
  };
  const child = spawn(process.execPath, [file, JSON.stringify({ dist: DIST, options: told })], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...place.env },
  });
  running.add(child);
  const said: Record<string, unknown>[] = [];
  let rest = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    said.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>));
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  child.stdin.on("error", () => {}); // it was killed
  const exited = once(child, "exit");
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await waitUntil(() => hasEnded() || said.some((line) => "ready" in line), "a worker that is ready");
  if (hasEnded()) throw new Error(`the worker ended: ${errors}`);
  const ended = async () => {
    await exited;
    running.delete(child);
  };
  return {
    child,
    said,
    problems: () => said.flatMap((line) => ("problem" in line ? [JSON.stringify(line.problem)] : [])),
    errors: () => errors,
    tell: (line) => void child.stdin.write(`${line}\n`),
    kill: (signal) => void child.kill(signal),
    ended,
    async close() {
      child.stdin.write("close\n");
      await ended();
    },
  };
}
