// How another process asks a supervisor to stop a run: an empty file named for the run, in a folder that the supervisor watches while it
// has runs. The supervisor stops the run itself, so that there is one agent_exit, with the outcome `interrupted`.

import { existsSync, type FSWatcher, watch } from "node:fs";
import { lstat, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { journalDirectory } from "./file.ts";

interface Watched {
  readonly watcher: FSWatcher;
  readonly runs: Map<string, () => void>;
}

const folders = new Map<string, Watched>();

export function requestDirectory(stateDir: string): string {
  return join(journalDirectory(stateDir), "stop");
}

/** Calls `onRequest` once when the run is asked to stop. Never rejects: where nothing can be watched, nothing can be asked. */
export async function watchStopRequest(
  stateDir: string,
  runId: string,
  onRequest: () => void,
): Promise<() => void> {
  const folder = requestDirectory(stateDir);
  const path = join(folder, runId);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const watched = folders.get(folder) ?? openFolder(folder);
    let isAsked = false;
    const look = () => {
      if (isAsked || !existsSync(path)) return;
      isAsked = true;
      void rm(path, { force: true });
      onRequest();
    };
    watched.runs.set(runId, look);
    // One that was written before anybody watched.
    setImmediate(look);
    return () => closeRun(folder, runId);
  } catch {
    return () => {}; // no more watches to be had: `bridle stop` says that nobody answered
  }
}

function openFolder(folder: string): Watched {
  const runs = new Map<string, () => void>();
  const watcher = watch(folder, { persistent: false }, () => {
    for (const look of runs.values()) look();
  });
  // The folder was removed: nobody can ask any more, and the next run makes it anew.
  watcher.on("error", () => folders.delete(folder));
  const watched = { watcher, runs };
  folders.set(folder, watched);
  return watched;
}

function closeRun(folder: string, runId: string): void {
  const watched = folders.get(folder);
  if (watched?.runs.delete(runId) !== true || watched.runs.size > 0) return;
  watched.watcher.close();
  folders.delete(folder);
}

export async function requestStop(stateDir: string, runId: string): Promise<void> {
  const folder = requestDirectory(stateDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, runId), "", { mode: 0o600 });
}

/** Runs that somebody has asked to stop. Nothing else that lies there, or where a link leads, is taken for a request. */
export async function listRequests(stateDir: string): Promise<string[]> {
  const folder = requestDirectory(stateDir);
  try {
    if (!(await lstat(folder)).isDirectory()) return [];
    const names = (await readdir(folder)).filter((name) => /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name));
    const found = await Promise.all(names.map((name) => lstat(join(folder, name)).catch(() => undefined)));
    return names.filter((_, index) => found[index]?.isFile() === true && found[index].size === 0);
  } catch {
    return []; // nobody has ever asked
  }
}

/** Takes back a request that nobody has seen, or that came too late. */
export async function withdrawStop(stateDir: string, runId: string): Promise<void> {
  await rm(join(requestDirectory(stateDir), runId), { force: true });
}
