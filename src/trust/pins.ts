// What is pinned of a command beside its argv: the bytes of the files it names, and the variables it sets. Decides nothing.

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import type { ResolvedCommand } from "../compiler/resolve-command.ts";
import { isInterpreter } from "../compiler/resolve-command.ts";

export interface Pin {
  /** Absolute real path, or `env` for the entry's variables. */
  readonly file: string;
  readonly sha256: string;
}

export const ENV_PIN = "env";

/**
 * Pinned is a file that lies, or is named, below one of `places` (project, home, plugin bundle), and one that does not belong to root. Not
 * pinned: what the system's packages change by themselves, and an interpreter found through PATH.
 */
export async function listPins({
  command,
  resolved: { files, named },
  env = {},
  places,
}: {
  /** Placeholders expanded. */
  command: readonly string[];
  resolved: Pick<ResolvedCommand, "files" | "named">;
  env?: Readonly<Record<string, string>> | undefined;
  places: readonly string[];
}): Promise<Pin[]> {
  const pins = new Map<string, string>();
  const isBareInterpreter =
    command[0] !== undefined && !command[0].includes("/") && isInterpreter(command[0]);
  for (const [index, { path, sha256 }] of files.entries()) {
    if (index === 0 && isBareInterpreter) continue;
    const isPlaced = [path, named[index] ?? path].some((one) => places.some((place) => isBelow(one, place)));
    if (isPlaced || (await stat(path)).uid !== 0) pins.set(path, sha256);
  }
  const variables = Object.entries(env).sort(([one], [other]) => (one < other ? -1 : 1));
  if (variables.length > 0)
    pins.set(ENV_PIN, createHash("sha256").update(JSON.stringify(variables)).digest("hex"));
  return [...pins].map(([file, sha256]) => ({ file, sha256 }));
}

function isBelow(path: string, place: string): boolean {
  return path.startsWith(place.endsWith("/") ? place : `${place}/`);
}
