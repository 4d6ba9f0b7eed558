// Turns what the file system says while a run is laid out into a refusal with the path and the cause.

import { AgentHooksRefused } from "../errors.ts";

/**
 * Runs a step that makes or writes something of a run at `place`.
 *
 * @throws AgentHooksRefused `run_dir_unavailable` for the system's own errors (EROFS, ENOSPC, EACCES …); others as they are.
 */
export async function orUnavailable<Made>(
  place: string,
  hint: string,
  step: () => Promise<Made>,
): Promise<Made> {
  try {
    return await step();
  } catch (cause) {
    if (!isSystemError(cause)) throw cause;
    throw refuseUnavailable(cause.path ?? place, cause.message, { hint, cause });
  }
}

export function refuseUnavailable(
  place: string,
  why: string,
  { hint, cause }: { hint: string; cause: unknown },
): AgentHooksRefused {
  const message = `${place} cannot be made or written: ${why}`;
  return new AgentHooksRefused([{ code: "run_dir_unavailable", path: "runDirectory", message, hint }], {
    cause,
  });
}

/** Of the file system: it has the call that failed. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "code" in error;
}
