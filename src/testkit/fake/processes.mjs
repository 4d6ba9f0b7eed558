// @ts-check
// Runs hooks and tools as the CLIs do: each in a session of its own, its whole group known, so that a clean stop can end it.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

/** @typedef {{ code: number | null, signal: string | null, stdout: string, stderr: string, isTimedOut: boolean, error?: string }} Ended */

export const BASH = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";

/** Groups of hooks and tools that run now. @type {Set<number>} */
const groups = new Set();

/** Ends every hook and tool that runs. */
export function killGroups() {
  for (const group of groups) killGroup(group);
}

/** @param {number} group */
function killGroup(group) {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // already empty
  }
}

/** How long a tool's output is waited for once its process has ended: a background job may hold it open. */
const OUTPUT_GRACE_MS = 200;

/**
 * Runs one command line. Never rejects: a shell that cannot be started is `error`.
 * @param {object} options
 * @param {string} options.shell
 * @param {string} options.command
 * @param {string} options.cwd
 * @param {string} [options.input] written to stdin, which is then closed
 * @param {number} [options.timeoutMs]
 * @param {boolean} [options.isKilledHalfWay] the group is killed when half of the input is written
 * @param {boolean} [options.waitsForOutput] as for hooks: ends with the output, not with the process
 * @returns {Promise<Ended>}
 */
export function runShell({
  shell,
  command,
  cwd,
  input = "",
  timeoutMs,
  isKilledHalfWay = false,
  waitsForOutput = false,
}) {
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    let isTimedOut = false;
    const child = spawn(shell, ["-c", command], { cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    const group = child.pid;
    if (group !== undefined) groups.add(group);
    const timer =
      timeoutMs === undefined || group === undefined
        ? undefined
        : setTimeout(() => {
            isTimedOut = true;
            killGroup(group);
          }, timeoutMs);
    /** @param {Partial<Ended>} how */
    const end = (how) => {
      clearTimeout(timer);
      if (group !== undefined) groups.delete(group);
      resolve({ code: null, signal: null, stdout, stderr, isTimedOut, ...how });
    };
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      stderr += chunk;
    });
    child.on("error", (error) => end({ error: error.message }));
    child.on("close", (code, signal) => end({ code, signal }));
    if (!waitsForOutput)
      child.on("exit", (code, signal) => void setTimeout(() => end({ code, signal }), OUTPUT_GRACE_MS));
    child.stdin.on("error", () => {}); // it need not read
    if (isKilledHalfWay && group !== undefined)
      child.stdin.write(input.slice(0, input.length / 2), () => killGroup(group));
    else child.stdin.end(input);
  });
}
