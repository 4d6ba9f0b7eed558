// Sessions that were kept for another try are removed when their tasks have finished. Touches nothing but what runs of this fan-out left
// in the state directory: never the user's own home.

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { sessionsDirectory } from "../spawn/session-record.ts";

export interface KeptSession {
  readonly runId: string;
  /** The provider's id, where it is known. */
  readonly session?: string | undefined;
}

export async function forgetSessions(stateDir: string, sessions: readonly KeptSession[]): Promise<void> {
  const folder = sessionsDirectory(stateDir);
  const there = new Set(
    await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    }),
  );
  const names = sessions.flatMap(({ runId, session }) => [
    `home-${runId}`,
    ...(session === undefined ? [] : [`${session}.json`]),
  ]);
  for (const name of names.filter((it) => there.has(it)))
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 });
}
