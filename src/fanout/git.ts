// Runs git for worktrees. Must never run what an agent may have put into the repository: hooks, a file system monitor.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const GIT_MS = 600_000;
const OUTPUT_MAX = 64 * 1024 * 1024;

/** Variables that would point git at another repository are left out. */
function gitEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
}

/** Nothing that the repository names is started. */
const INERT = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/** What it prints; rejects with an Error that says what git says. */
export async function git(folder: string, ...words: string[]): Promise<string> {
  try {
    const { stdout } = await run("git", ["-C", folder, ...INERT, ...words], {
      env: gitEnv(),
      timeout: GIT_MS,
      maxBuffer: OUTPUT_MAX,
    });
    return stdout;
  } catch (cause) {
    const { stderr = "", message } = cause as { stderr?: string; message: string };
    throw new Error(`git ${words[0]}: ${stderr.trim() || message}`, { cause });
  }
}
