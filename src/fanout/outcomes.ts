// The results of a fan-out as a file: one line for each finished task, by index, made anew from the state and put in place at once.

import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TaskEnding } from "./options.ts";
import type { FanOutState } from "./state.ts";

export function outcomesPath(directory: string): string {
  return join(directory, "outcomes.jsonl");
}

export async function writeOutcomes(state: FanOutState): Promise<void> {
  await writeEndings(
    outcomesPath(state.directory),
    state.finished().map((index) => state.ending(index)),
  );
}

/** Where it is written before it is put in place. */
export function unfinishedPath(path: string): string {
  return `${path}.${process.pid}.new`;
}

/** 0600. A reader sees the old file or the new one, whole. */
export async function writeEndings(path: string, endings: readonly TaskEnding[]): Promise<void> {
  const unfinished = unfinishedPath(path);
  await writeFile(unfinished, endings.map((ending) => `${JSON.stringify(ending)}\n`).join(""), {
    mode: 0o600,
  });
  await rename(unfinished, path);
}
