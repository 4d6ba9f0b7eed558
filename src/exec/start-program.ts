// Starts a program with three pipes, or says why it could not be started. No error of it may reach the process as one that nobody handles.

import { type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";

export type StartedProgram =
  | { readonly child: ChildProcessWithoutNullStreams; readonly pid: number }
  | { readonly error: NodeJS.ErrnoException };

export async function startProgram(
  file: string,
  args: readonly string[],
  options: Pick<SpawnOptions, "cwd" | "env" | "argv0" | "detached">,
): Promise<StartedProgram> {
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(file, args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  } catch (error) {
    return { error: error as NodeJS.ErrnoException }; // a word with a NUL, too many words
  }
  const { pid } = child;
  if (pid === undefined) {
    const [error] = await once(child, "error");
    return { error };
  }
  child.on("error", () => {}); // of a program that runs: a signal that could not be sent, and who sends one sees that
  return { child, pid };
}
