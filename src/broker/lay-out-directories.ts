// Makes run directories as they are before anything of a run is in them: the shim and its FIFOs. Never over anything that is there.

import { spawn } from "node:child_process";
import { constants, fstatSync } from "node:fs";
import { chmod, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { takeStartTurn } from "../exec/start-turn.ts";
import { settleAll } from "../settle-all.ts";
import { checkOwnDirectory } from "./run-directory-place.ts";
import { refuseUnavailable } from "./run-directory-unavailable.ts";
import { SHIM_LAYOUT, SHIM_TEXT, SLOTS } from "./shim.ts";

export const UNAVAILABLE_HINT =
  "set runDirParent or XDG_STATE_HOME to a folder that you may write, on a disk with space";

/** Of what `layOutDirectories` makes in each; "" is the directory itself. */
export const LAID_OUT: readonly string[] = [
  "",
  SHIM_LAYOUT.requests,
  SHIM_LAYOUT.replies,
  SHIM_LAYOUT.envelopes,
  SHIM_LAYOUT.bodies,
  SHIM_LAYOUT.shimDir,
  SHIM_LAYOUT.shim,
  ...SLOTS.map((slot) => join(SHIM_LAYOUT.replies, slot)),
];

/**
 * Makes each of the directories, all FIFOs by one process. Rejects with the file system's own error, EEXIST for one that is there, or
 * `AgentHooksRefused` `run_dir_unavailable`; what it made by then stays.
 */
export async function layOutDirectories(paths: readonly string[]): Promise<void> {
  await settleAll(paths.map(makeBare));
  const fifos = paths.flatMap((path) => [
    join(path, SHIM_LAYOUT.requests),
    ...SLOTS.map((slot) => join(path, SHIM_LAYOUT.replies, slot)),
  ]);
  const makeQueues = async () => {
    await settleAll(paths.map((path) => makeFolder(join(path, SHIM_LAYOUT.replies))));
    await makeFifos(fifos).catch((cause: unknown) => {
      const hint = "a disk with space that holds FIFOs is needed";
      throw refuseUnavailable(paths[0] as string, String(cause), { hint, cause });
    });
  };
  // The FIFOs take a process, the longest of all: the rest is made meanwhile, and all of it is over before any of it is undone.
  await settleAll([makeQueues(), ...paths.map(makeRest)]);
}

async function makeBare(path: string): Promise<void> {
  await makeFolder(path);
  const { mode } = checkOwnDirectory(path);
  if ((mode & 0o777) !== 0o700) await chmod(path, 0o700); // a umask took bits away
}

async function makeRest(path: string): Promise<void> {
  const { envelopes, bodies, shimDir, shim } = SHIM_LAYOUT;
  const makeShim = async () => {
    await makeFolder(join(path, shimDir));
    await createFile(join(path, shim), SHIM_TEXT, 0o500);
    await chmod(join(path, shimDir), 0o500);
  };
  await settleAll([makeShim(), makeFolder(join(path, envelopes)), makeFolder(join(path, bodies))]);
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
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

/** Follows no symlink, replaces nothing. */
export async function createFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
  const file = await open(path, flags, mode);
  try {
    await file.writeFile(content);
    if ((fstatSync(file.fd).mode & 0o777) !== mode) await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** rm does not follow symlinks; the shim's folder must be made writable first. */
export async function removeTree(path: string): Promise<void> {
  await chmod(join(path, SHIM_LAYOUT.shimDir), 0o700).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await rm(path, { recursive: true, force: true });
}
