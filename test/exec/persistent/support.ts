// Guards that are real processes, as they should and should not be, for tests.

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach } from "vitest";
import type { GuardProgram } from "../../../src/exec/persistent/guard-process.ts";
import { createPersistentGuards, type PersistentGuards } from "../../../src/exec/persistent/guards.ts";
import { startTimeOf } from "../../../src/exec/sweep.ts";
import type { Envelope } from "../../../src/profile/envelope-types.ts";
import { SHELL_CALL } from "../../broker/chain-support.ts";
import { isAlive } from "../../spawn/support.ts";

/** `ask` and `say` for a guard's body; every line of stdin goes to `on`, which the body sets. */
const HEAD = `import { createInterface } from "node:readline";
import { appendFileSync } from "node:fs";
import { spawn } from "node:child_process";
appendFileSync("starts", process.pid + "\\n");
const write = (text, done) => process.stdout.write(text, done);
const say = (word) => write(JSON.stringify(word) + "\\n");
const deny = (reason) => ({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: reason } });
const lines = createInterface({ input: process.stdin });
`;

export interface Guards {
  readonly dir: string;
  readonly guards: PersistentGuards;
  /** `body` runs in a Node script; `call` in it is what was asked, when it begins with `each:`. */
  program(body: string): Promise<GuardProgram>;
  ask(
    program: GuardProgram,
    options?: { timeoutMs?: number; signal?: AbortSignal; command?: string; key?: string },
  ): ReturnType<PersistentGuards["ask"]>;
  /** Pids, in the order of the starts. */
  starts(): Promise<number[]>;
}

export const commandOf = (command: string): Envelope => ({ ...SHELL_CALL, tool_input: { command } });

export function guardsOfEachTest(): Guards {
  let dir = "";
  let guards = createPersistentGuards();
  let programs = 0;
  const starts = async () =>
    existsSync(join(dir, "starts"))
      ? (await readFile(join(dir, "starts"), "utf8")).trim().split("\n").map(Number)
      : [];
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "bridle-persistent-"));
    guards = createPersistentGuards();
  });
  afterEach(async () => {
    await guards.close();
    const left = (await starts()).filter(isAlive);
    for (const pid of left) process.kill(pid, "SIGKILL");
    await rm(dir, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
  });
  return {
    get dir() {
      return dir;
    },
    get guards() {
      return guards;
    },
    async program(body) {
      programs += 1;
      const path = join(dir, `guard-${programs}.mjs`);
      const each = body.startsWith("each:")
        ? `lines.on("line", async (line) => { const call = JSON.parse(line); const { command } = call.envelope.tool_input; ${body.slice(5)} });`
        : body;
      await writeFile(path, `${HEAD}${each}\n`);
      return {
        argv: [process.execPath, path],
        argv0: process.execPath,
        env: { PATH: "/usr/bin:/bin" },
        cwd: dir,
      };
    },
    ask: (
      program,
      { timeoutMs = 20_000, signal = new AbortController().signal, command = "ls", key = "k" } = {},
    ) => guards.ask(key, program, commandOf(command), { timeoutMs, signal }),
    starts,
  };
}

/** Waits until a process is gone. */
export async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 500 && isAlive(pid); tries += 1) await delay(10);
  return !isAlive(pid);
}

/** Waits until a child of ours was waited for: its exit has been told then. */
export async function isReaped(pid: number): Promise<void> {
  for (let tries = 0; tries < 500 && startTimeOf(pid) !== undefined; tries += 1) await delay(10);
}

export async function untilWritten(path: string): Promise<string> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const text = existsSync(path) ? await readFile(path, "utf8") : "";
    if (text.endsWith("\n")) return text.trim();
    await delay(10);
  }
  throw new Error(`${path} was never written`);
}
