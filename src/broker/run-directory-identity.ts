// Is everything in a run directory still the thing that was made? Cheap by metadata, thorough with the shim's bytes.

import { lstatSync, type Stats } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readIfSmall } from "../look.ts";
import type { RunDirectory } from "./run-directory.ts";
import { SHIM_TEXT } from "./shim.ts";

export interface Identity {
  readonly type: "directory" | "file" | "fifo" | "other";
  readonly dev: number;
  readonly ino: number;
  readonly uid: number;
  readonly mode: number;
  /** Files only: size and times change with the bytes, on the others with ordinary use. */
  readonly content: string;
}

export function identify(stats: Stats): Identity {
  const { dev, ino, uid, mode } = stats;
  const type = stats.isDirectory()
    ? "directory"
    : stats.isFile()
      ? "file"
      : stats.isFIFO()
        ? "fifo"
        : "other";
  const content = type === "file" ? `${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}` : "";
  return { type, dev, ino, uid, mode, content };
}

/** One line for each difference. Synchronous on purpose: a few lstat calls on the path of every hook call. */
export function verifyIdentities(
  root: string,
  identities: ReadonlyMap<string, Identity>,
  names: Iterable<string>,
): string[] {
  const differences: string[] = [];
  for (const name of names) {
    const made = identities.get(name);
    const shown = name === "" ? "the run directory" : name;
    if (made === undefined) {
      differences.push(`${shown} was never made`);
      continue;
    }
    let now: Identity;
    try {
      now = identify(lstatSync(join(root, name)));
    } catch (error) {
      differences.push(
        `${shown} cannot be looked at (${(error as NodeJS.ErrnoException).code ?? String(error)})`,
      );
      continue;
    }
    const fields = (Object.keys(made) as (keyof Identity)[]).filter((field) => made[field] !== now[field]);
    if (fields.length > 0) differences.push(`${shown} changed (${fields.join(", ")})`);
  }
  return differences;
}

/** The thorough check: everything that was made, and the shim's bytes. Empty: unchanged. */
export async function verifyRunDirectory({ path, identities, shimPath }: RunDirectory): Promise<string[]> {
  const differences = verifyIdentities(path, identities, identities.keys());
  if (readIfSmall(shimPath) === SHIM_TEXT) return differences;
  try {
    if ((await readFile(shimPath, "utf8")) !== SHIM_TEXT) differences.push("the shim's bytes changed");
  } catch (error) {
    differences.push(`the shim cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
  return differences;
}
