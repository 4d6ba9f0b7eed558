// Keeps an export from replacing what it reads: the source itself under any of its names, a file beside it that belongs to it, or one that a
// folder would be read with the next time.

import { type BigIntStats, lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { AgentHooksRefused } from "../../index.ts";
import type { Source } from "./source.ts";

/**
 * @param out as given to `--out`; it need not be there
 * @throws AgentHooksRefused `option_invalid`: it is the source, or would become part of it. What cannot be looked at is left to whoever writes it.
 */
export function refuseSource(out: string, { files, folder }: Pick<Source, "files" | "folder">): void {
  const target = resolve(out);
  const place = placeOf(target);
  const there = identitiesOf(target);
  const isSame = (file: string) =>
    placeOf(file) === place || [...identitiesOf(file)].some((identity) => there.has(identity));
  const own = files.find(isSame);
  if (own !== undefined)
    throw refuse(target, own === target ? "is the source itself" : `is the source itself, ${own}`);
  if (folder !== undefined && dirname(place) === realOf(folder) && place.endsWith(".jsonl"))
    throw refuse(target, `is in the folder that is read, ${folder}, and would be read with it the next time`);
}

/** Of what stands there, and of what that points to. */
function identitiesOf(path: string): Set<string> {
  const found = new Set<string>();
  for (const look of [lstatSync, statSync] as const) {
    try {
      const { dev, ino }: BigIntStats = look(path, { bigint: true });
      found.add(`${dev} ${ino}`);
    } catch {
      // not there, or below what is no folder: the read or the write tells
    }
  }
  return found;
}

/** Its name in its real folder: a file that is not there yet has one too. */
function placeOf(path: string): string {
  return join(realOf(dirname(path)), basename(path));
}

function realOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder; // not there: nothing that is read is in it, and the write tells
  }
}

function refuse(target: string, message: string): AgentHooksRefused {
  const hint = "nothing was written; name a file that is not read";
  return new AgentHooksRefused([{ code: "option_invalid", path: `--out ${target}`, message, hint }]);
}
