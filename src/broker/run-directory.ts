// One directory per run: the shim, its FIFOs, and the files rendered for the provider. Private, made fresh, never reused.

import { lstat, mkdir } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize, sep } from "node:path";
import { isNamed } from "../look.ts";
import { createFile, removeTree, UNAVAILABLE_HINT } from "./lay-out-directories.ts";
import { type Identity, verifyIdentities } from "./run-directory-identity.ts";
import {
  checkOwnDirectory,
  checkPlace,
  defaultParent,
  prepareParent,
  realPathOfPlanned,
  refuseRunDirectory,
} from "./run-directory-place.ts";
import { orUnavailable } from "./run-directory-unavailable.ts";
import { SHIM_LAYOUT } from "./shim.ts";
import { giveDirectory } from "./spare-directories.ts";

export interface RunDirectory {
  /** Absolute real path, without quote or line break. */
  readonly path: string;
  readonly shimDir: string;
  readonly shimPath: string;
  readonly requestFifo: string;
  /** What was made, as it was made. */
  readonly identities: ReadonlyMap<string, Identity>;
  /** The cheap check for every request: directory, shim, queue and, when given, one slot. Empty: unchanged. */
  changedQuickly(slot: string | undefined): string[];
  /** Creates one file; never follows a symlink, never replaces one. Missing folders are made 0700. Returns its path. */
  write(relativePath: string, content: string | Uint8Array, mode?: number): Promise<string>;
  /** Removes everything. Throws when another directory has taken its place. */
  remove(): Promise<void>;
}

export interface CreateRunDirectoryOptions {
  readonly runId: string;
  /** The agent's working directory. */
  readonly cwd: string;
  /** Further directories the agent may write to. */
  readonly forbidden: readonly string[];
  /** @default `$XDG_RUNTIME_DIR/bridle`, else `$XDG_STATE_HOME/bridle/run`, else `~/.local/state/bridle/run` */
  readonly parent?: string;
  /** @default process.env */
  readonly env?: NodeJS.ProcessEnv;
}

/** Where a run directory will be. Nothing of it is made. */
export interface PlannedDirectory {
  readonly parent: string;
  /** Absolute real path. */
  readonly path: string;
}

/** Creates one file in the run directory, as `RunDirectory.write` does. */
export type WriteFile = RunDirectory["write"];

/** Finds the place. Only looks. Throws `AgentHooksRefused` `run_dir_unsafe`. */
export function planRunDirectory({
  runId,
  cwd,
  forbidden,
  parent,
  env = process.env,
}: CreateRunDirectoryOptions): PlannedDirectory {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(runId)) {
    throw refuseRunDirectory(
      `the run id cannot name a folder: ${JSON.stringify(runId)}`,
      "use letters, digits, - and _",
    );
  }
  if (parent !== undefined && !isAbsolute(parent)) {
    throw refuseRunDirectory(
      `the parent is not absolute: ${JSON.stringify(parent)}`,
      "pass an absolute path",
    );
  }
  const realParent = realPathOfPlanned(parent ?? defaultParent(env));
  const path = join(realParent, runId);
  checkPlace({ path, cwd, forbidden, env });
  return { parent: realParent, path };
}

/**
 * Throws `AgentHooksRefused` `run_dir_unsafe`, or `run_dir_unavailable` when the file system does not let it be made; nothing is left behind
 * then but an empty parent.
 *
 * @param planned what `planRunDirectory` said of the same options. @default asked now
 * @param fill puts further files into it. @default none
 */
export async function createRunDirectory(
  options: CreateRunDirectoryOptions,
  planned?: PlannedDirectory,
  fill: (write: WriteFile) => Promise<unknown> = async () => {},
): Promise<RunDirectory> {
  const { parent, path } = planned ?? planRunDirectory(options);
  return orUnavailable(path, UNAVAILABLE_HINT, async () => {
    await prepareParent(parent);
    const identities = await giveDirectory(parent, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      throw refuseRunDirectory(
        `cannot make ${path}: ${error.message}`,
        "a run directory is never reused",
        error,
      );
    });
    try {
      const write: WriteFile = (relativePath, content, mode = 0o600) =>
        orUnavailable(join(path, relativePath), UNAVAILABLE_HINT, () =>
          writeInside(path, relativePath, content, mode),
        );
      await fill(write);
      return describe(path, identities, write);
    } catch (error) {
      await removeTree(path);
      throw error;
    }
  });
}

function describe(path: string, identities: ReadonlyMap<string, Identity>, write: WriteFile): RunDirectory {
  const { requests, replies, shimDir, shim } = SHIM_LAYOUT;
  const quick = ["", shim, requests];
  return {
    path,
    shimDir: join(path, shimDir),
    shimPath: join(path, shim),
    requestFifo: join(path, requests),
    identities,
    changedQuickly: (slot) =>
      verifyIdentities(path, identities, slot === undefined ? quick : [...quick, join(replies, slot)]),
    write,
    async remove() {
      const now = await lstat(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      if (now === undefined) return;
      const made = identities.get("");
      if (made === undefined || now.ino !== made.ino || now.dev !== made.dev) {
        throw new Error(`${path} is not the directory that was made; it was left alone`);
      }
      await removeTree(path);
    },
  };
}

async function makeUnlessThere(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function writeInside(
  root: string,
  relativePath: string,
  content: string | Uint8Array,
  mode: number,
): Promise<string> {
  const clean = normalize(relativePath);
  if (
    clean === "." ||
    clean === "" ||
    isAbsolute(clean) ||
    clean.split(sep).includes("..") ||
    clean.endsWith(sep)
  ) {
    throw new TypeError(`not a path inside the run directory: ${JSON.stringify(relativePath)}`);
  }
  const folders = dirname(clean) === "." ? [] : dirname(clean).split(sep);
  let folder = root;
  for (const name of folders) {
    folder = join(folder, name);
    if (!isNamed(folder)) await makeUnlessThere(folder);
    checkOwnDirectory(folder);
  }
  const path = join(root, clean);
  await createFile(path, content, mode);
  return path;
}
