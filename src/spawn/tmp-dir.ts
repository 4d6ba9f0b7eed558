// The agent's temporary directory: named for the run, so that it is known before it is made.

import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realPathOfPlanned } from "../broker/run-directory-place.ts";
import type { SpawnOptions } from "./options.ts";

/** The folder around it, as the agent and this program have it. */
export function temporaryFolder({
  env,
  baseEnv = process.env,
}: Pick<SpawnOptions, "env" | "baseEnv">): string {
  return env?.TMPDIR || baseEnv.TMPDIR || tmpdir();
}

export function tmpDirName(runId: string): string {
  return `bridle-${runId}`;
}

/** Absolute real path. */
export function planTmpDir(options: Pick<SpawnOptions, "env" | "baseEnv">, runId: string): string {
  return join(realPathOfPlanned(temporaryFolder(options)), tmpDirName(runId));
}

/** Rejects when there is something of that name: it is not ours. */
export async function makeTmpDir(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
}
