// Where cases are played: a folder below the state directory, made for one proof and removed after it.

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { checkPlace } from "../broker/run-directory-place.ts";
import { makeStateFolder } from "./make-state-folder.ts";

/** Throws `run_dir_unsafe` where cases could not be played: that would speak against a binary for what the place is. */
export async function prepareScratch(parent: string, scratch: string, env: NodeJS.ProcessEnv): Promise<void> {
  checkPlace({ path: join(scratch, "run"), cwd: join(scratch, "project"), forbidden: [], env });
  await makeStateFolder(parent);
  await removeAbandoned(parent);
  await makeStateFolder(scratch);
}

/** What a prover that was killed has left: its process id is in the name. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^prove-(\d+)-/.exec(name)?.[1]);
    if (!Number.isInteger(pid) || pid === process.pid || isAlive(pid)) continue;
    await rm(join(parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // somebody else's is alive too
  }
}
