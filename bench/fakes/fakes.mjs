// A folder for a bench with a fake claude and a fake codex in it: small shell scripts, so that what is measured is who starts and reads them.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where a login of systemd has its runtime directory and many a system its temporary files: in memory. */
const MEMORY = "/dev/shm";

const BASH = ["/usr/bin/bash", "/bin/bash"].find((path) => existsSync(path));

/** The shell that the fakes need to tell the time of a call; undefined: this machine has none. */
export const askingShell = BASH;

/**
 * Home and state are on the disk; the runtime directory and temporary files are in memory where there is `/dev/shm`.
 * @param {string} name of the folder, below the user's cache: a run directory in a temporary folder is refused
 * @param {string} shell that runs the fakes
 */
export function makeFakes(name, shell = "/bin/sh") {
  const cache = join(homedir(), ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, `bridle-bench-${name}-`));
  mkdirSync(join(folder, "project"));
  const inMemory = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : cache, `bridle-bench-${name}-`));
  const [runtime, tmp] = [join(inMemory, "runtime"), join(inMemory, "tmp")];
  for (const path of [runtime, tmp]) mkdirSync(path, { mode: 0o700 });
  const binaries = Object.fromEntries(
    ["claude", "codex"].map((provider) => {
      const path = join(folder, provider);
      writeFileSync(path, `#!${shell}\n${readFileSync(join(import.meta.dirname, `${provider}.sh`), "utf8")}`);
      chmodSync(path, 0o755);
      return [provider, path];
    }),
  );
  return {
    folder,
    binaries,
    cwd: join(folder, "project"),
    env: { PATH: "/usr/bin:/bin", HOME: folder, TMPDIR: tmp, XDG_RUNTIME_DIR: runtime },
    remove: () => {
      for (const path of [folder, inMemory]) rmSync(path, { recursive: true, force: true });
    },
  };
}
