// Where a run directory may lie. An agent writes to its cwd, to /tmp and to added directories while hooks run
// unsandboxed, so the directory must be outside of all of them (docs/THREATS.md).

import { lstatSync, realpathSync, type Stats } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { makeDirectories } from "../make-directories.ts";

export function refuseRunDirectory(message: string, hint: string, cause?: unknown): AgentHooksRefused {
  const issue = { code: "run_dir_unsafe", path: "runDirectory", message, hint } as const;
  return new AgentHooksRefused([issue], cause === undefined ? {} : { cause });
}

/** `$XDG_RUNTIME_DIR/bridle` when that is ours alone, else `$XDG_STATE_HOME/bridle/run`, else `~/.local/state/bridle/run`. */
export function defaultParent(env: NodeJS.ProcessEnv): string {
  const runtime = env.XDG_RUNTIME_DIR;
  if (runtime !== undefined && isAbsolute(runtime) && isOursAlone(runtime)) return join(runtime, "bridle");
  const state = env.XDG_STATE_HOME;
  if (state !== undefined && isAbsolute(state)) return join(state, "bridle", "run");
  const home = env.HOME !== undefined && isAbsolute(env.HOME) ? env.HOME : homedir();
  return join(home, ".local", "state", "bridle", "run");
}

function isOursAlone(path: string): boolean {
  try {
    const stats = lstatSync(path);
    return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
  } catch {
    return false; // absent or unreadable: not usable, the next candidate is
  }
}

/** Real path of the nearest existing ancestor, with the rest as it was written. */
export function realPathOfPlanned(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync.native(absolute);
  } catch (error) {
    const parent = dirname(absolute);
    if (parent === absolute) throw error;
    return join(realPathOfPlanned(parent), relative(parent, absolute));
  }
}

/** Throws `run_dir_unsafe` when the planned directory is reachable through, or contains, a place the agent may write to. */
export function checkPlace({
  path,
  cwd,
  forbidden,
  env,
}: {
  path: string;
  cwd: string;
  forbidden: readonly string[];
  env: NodeJS.ProcessEnv;
}): void {
  if (/['\r\n\0]/.test(path)) {
    throw refuseRunDirectory(
      `the path holds a quote or a line break: ${JSON.stringify(path)}`,
      "choose another parent: the path is part of a shell command",
    );
  }
  const temporary = [tmpdir(), env.TMPDIR].filter(
    (dir) => dir !== undefined && dir !== "" && isAbsolute(dir),
  );
  const places = [
    { name: "the working directory", dir: cwd },
    { name: "/tmp", dir: "/tmp" },
    ...temporary.map((dir) => ({ name: "the temporary directory", dir: dir as string })),
    ...forbidden.map((dir) => ({ name: "a directory the agent may write to", dir: resolve(cwd, dir) })),
  ];
  for (const { name, dir } of places) {
    const real = realPathOfPlanned(dir);
    if (!isInside(path, real) && !isInside(real, path)) continue;
    throw refuseRunDirectory(
      `${path} overlaps ${name} (${real}), so the agent could rewrite its own guards`,
      "set XDG_STATE_HOME, or pass a parent outside of it",
    );
  }
}

/** True when `path` is `dir` or lies below it. */
function isInside(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}

/** Makes what is missing of the parent, each level 0700, and refuses one that others may write to. Rejects with the system's error when it cannot. */
export async function prepareParent(parent: string): Promise<void> {
  try {
    checkParent(parent); // nearly always it is there
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    for (const dir of await makeDirectories(parent)) checkOwnDirectory(dir);
    checkParent(parent);
  }
}

function checkParent(parent: string): void {
  checkOwnDirectory(parent);
  if (realpathSync.native(parent) !== parent)
    throw refuseRunDirectory(`${parent} goes through a symlink`, "pass the real path");
}

/** What it is, when it is ours and nobody else may write to it. Throws `run_dir_unsafe`. */
export function checkOwnDirectory(dir: string): Stats {
  const stats = lstatSync(dir);
  const problems = [
    stats.isSymbolicLink() ? "is a symlink" : stats.isDirectory() ? "" : "is no directory",
    stats.uid === process.getuid?.() ? "" : `belongs to uid ${stats.uid}`,
    (stats.mode & 0o022) === 0 ? "" : `may be written by others (mode ${(stats.mode & 0o777).toString(8)})`,
  ].filter((problem) => problem !== "");
  if (problems.length === 0) return stats;
  throw refuseRunDirectory(`${dir} ${problems.join(" and ")}`, "chmod 700 it, or pass another parent");
}
