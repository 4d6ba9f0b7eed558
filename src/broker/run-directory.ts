// One directory per run: the shim, its FIFOs, and the files rendered for the provider. Private, made fresh, never reused.

import { spawn } from "node:child_process";
import { constants, lstatSync } from "node:fs";
import { chmod, lstat, mkdir, open, rm } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize, sep } from "node:path";
import { takeStartTurn } from "../exec/start-turn.ts";
import { settleAll } from "../settle-all.ts";
import { type Identity, identify, verifyIdentities } from "./run-directory-identity.ts";
import {
  checkOwnDirectory,
  checkPlace,
  defaultParent,
  prepareParent,
  realPathOfPlanned,
  refuseRunDirectory,
} from "./run-directory-place.ts";
import { orUnavailable, refuseUnavailable } from "./run-directory-unavailable.ts";
import { SHIM_LAYOUT, SHIM_TEXT, SLOTS } from "./shim.ts";

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

const HINT = "set runDirParent or XDG_STATE_HOME to a folder that you may write, on a disk with space";

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
 * @param fillBeside puts further files into it while its FIFOs are made. @default none
 */
export async function createRunDirectory(
  options: CreateRunDirectoryOptions,
  planned?: PlannedDirectory,
  fillBeside: (write: WriteFile) => Promise<unknown> = async () => {},
): Promise<RunDirectory> {
  const { parent, path } = planned ?? planRunDirectory(options);
  return orUnavailable(path, HINT, async () => {
    await prepareParent(parent);
    await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      throw refuseRunDirectory(
        `cannot make ${path}: ${error.message}`,
        "a run directory is never reused",
        error,
      );
    });
    try {
      const { mode } = checkOwnDirectory(path);
      if ((mode & 0o777) !== 0o700) await chmod(path, 0o700); // a umask took bits away
      const write: WriteFile = (relativePath, content, mode = 0o600) =>
        orUnavailable(join(path, relativePath), HINT, () => writeInside(path, relativePath, content, mode));
      await fill(path, write, fillBeside);
      return describe(path, write);
    } catch (error) {
      await removeTree(path);
      throw error;
    }
  });
}

/** One process for all of them, and not the synchronous form: a supervisor of many runs must not stall for one. */
async function makeFifos(paths: readonly string[]): Promise<void> {
  await takeStartTurn();
  const child = spawn("mkfifo", ["-m", "600", "--", ...paths], {
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
  });
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    // Its success is told by its exit; what it says about a failure is there when its stderr is closed.
    child.once("exit", (code) => code === 0 && resolve());
    child.once("close", (code, signal) => reject(new Error(`mkfifo: ${signal ?? `exit ${code}`}: ${said}`)));
  });
}

async function fill(
  path: string,
  write: WriteFile,
  fillBeside: (write: WriteFile) => Promise<unknown>,
): Promise<void> {
  const { requests, replies, envelopes, bodies, shimDir, shim } = SHIM_LAYOUT;
  const makeFolder = (name: string) => mkdir(join(path, name), { mode: 0o700 });
  const fifos = [join(path, requests), ...SLOTS.map((slot) => join(path, replies, slot))];
  const makeQueue = async () => {
    await makeFolder(replies);
    await makeFifos(fifos).catch((error: unknown) => {
      throw refuseUnavailable(path, String(error), {
        hint: "a disk with space that holds FIFOs is needed",
        cause: error,
      });
    });
  };
  const makeShim = async () => {
    await makeFolder(shimDir);
    await createFile(join(path, shim), SHIM_TEXT, 0o500);
    await chmod(join(path, shimDir), 0o500);
  };
  // The FIFOs take a process, the longest of all: the rest is made meanwhile, and all of it is over before any of it is undone.
  const steps = [makeQueue(), makeShim(), makeFolder(envelopes), makeFolder(bodies), fillBeside(write)];
  await settleAll(steps);
}

function describe(path: string, write: WriteFile): RunDirectory {
  const { requests, replies, envelopes, bodies, shimDir, shim } = SHIM_LAYOUT;
  const slots = SLOTS.map((slot) => join(replies, slot));
  const identities = new Map<string, Identity>();
  for (const name of ["", requests, replies, envelopes, bodies, shimDir, shim, ...slots]) {
    identities.set(name, identify(lstatSync(join(path, name))));
  }
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
    await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    checkOwnDirectory(folder);
  }
  const path = join(root, clean);
  await createFile(path, content, mode);
  return path;
}

async function createFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
  const file = await open(path, flags, 0o600);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** rm does not follow symlinks; the shim's folder must be made writable first. */
async function removeTree(path: string): Promise<void> {
  await chmod(join(path, SHIM_LAYOUT.shimDir), 0o700).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await rm(path, { recursive: true, force: true });
}
