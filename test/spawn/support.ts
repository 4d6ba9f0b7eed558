// A home and a working directory for one run of a fake CLI. The home lies outside /tmp, because a run directory there is refused.

import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

export interface Place {
  readonly home: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

export async function makePlace(): Promise<Place> {
  const cache = join(homedir(), ".cache");
  await mkdir(cache, { recursive: true });
  const home = await mkdtemp(join(cache, "bridle-spawn-test-"));
  const cwd = join(home, "work");
  await mkdir(cwd);
  return {
    home,
    cwd,
    env: { PATH: process.env.PATH, HOME: home },
    remove: () => rm(home, { recursive: true, force: true }),
  };
}

/** What runs have left in the state directory. */
export async function leftovers({ home }: Place): Promise<string[]> {
  const runs = join(home, ".local", "state", "bridle", "run");
  return existsSync(runs) ? readdir(runs) : [];
}

/** A killed process that nobody has reaped yet is dead too. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false; // no such process
  }
}
