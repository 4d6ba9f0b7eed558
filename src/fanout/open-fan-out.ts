// From tasks and options to a fan-out that is this process's: all checks first, then the state. Nothing is made before the last check has
// passed.

import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { AgentHooksRefused, type Issue, refuseIfAny } from "../errors.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { takeTurn } from "../supervisor/take-turn.ts";
import { compileForTasks, type HooksOfTask, nameHooks } from "./compile-hooks.ts";
import { fanOutDirectory, fanOutsDirectory, requireDriver } from "./open-state.ts";
import type { FanOutSettings } from "./options.ts";
import { createFanOutState, type FanOutState, openFanOutState } from "./state.ts";
import type { FanOutRow } from "./state-rows.ts";
import { checkTasks, digestTasks, type PlacedTask, type TaskSpec } from "./task.ts";
import { findRepository } from "./worktree.ts";

/** Longest wait for others that begin a fan-out: all they do in their turn is to write its tasks. */
const TURN_MS = 60_000;

export interface OpenedFanOut {
  readonly state: FanOutState;
  readonly stateDir: string;
  readonly isResumed: boolean;
  readonly hooks: Awaited<ReturnType<typeof compileForTasks>>;
}

/** @param placed undefined: those of the fan-out that is resumed. */
export async function openFanOut(
  placed: readonly PlacedTask[] | undefined,
  settings: FanOutSettings,
): Promise<OpenedFanOut> {
  await requireDriver();
  const stateDir = stateDirectory(settings.spawn?.baseEnv);
  if (placed === undefined) {
    if (settings.resume === undefined)
      throw mismatch("resume", "there are no tasks, and no fan-out to resume is named");
    return resumeState(stateDir, settings.resume, settings);
  }
  const { specs, issues } = checkTasks(placed, settings);
  refuseIfAny(issues);
  const digest = digestTasks(specs, nameHooks(settings));
  const found = settings.resume ?? (await findUnfinished(stateDir, digest, settings));
  if (found !== undefined) return resumeState(stateDir, found, settings, digest);

  const bases = await findBases(specs);
  const hooks = await compileForTasks(specs, settings);
  // Looked for once more: of two that begin the same at the same time one finds the other's.
  const leave = await takeTurn({
    path: join(fanOutsDirectory(stateDir), "begin"),
    waitMs: TURN_MS,
    signal: settings.signal ?? new AbortController().signal,
  });
  try {
    const begun = await findUnfinished(stateDir, digest, settings);
    if (begun !== undefined) return await resumeState(stateDir, begun, settings, digest);
    const id = randomUUID();
    const { source, note = {} } = settings;
    const state = await createFanOutState(fanOutDirectory(stateDir, id), {
      id,
      digest,
      source: source === undefined ? undefined : resolve(source),
      note,
      specs,
      bases,
    });
    state.claim(false);
    return { state, stateDir, hooks, isResumed: false };
  } finally {
    await leave();
  }
}

async function resumeState(
  stateDir: string,
  id: string,
  settings: FanOutSettings,
  digest?: string,
): Promise<OpenedFanOut> {
  if (!isFanOutId(id) || !listIds(stateDir).includes(id))
    throw mismatch(id, `there is no such fan-out in ${fanOutsDirectory(stateDir)}`);
  const state = await openFanOutState(fanOutDirectory(stateDir, id));
  try {
    if (digest !== undefined && state.row().digest !== digest)
      throw mismatch(
        id,
        "it was begun with other tasks, or under other options for them, than those that are given now",
      );
    state.claim(settings.assumeDead ?? false);
  } catch (error) {
    state.close();
    throw error;
  }
  try {
    if (settings.runSkipped === true) {
      state.unskip();
      if (state.counts().waiting > 0) state.reopen();
    }
    const finished = new Set(state.finished());
    const left = state.specs().filter(({ index }) => !finished.has(index));
    return { state, stateDir, hooks: await compileForTasks(left, settings), isResumed: true };
  } catch (error) {
    state.release();
    state.close();
    throw error;
  }
}

/**
 * The fan-out of these very tasks that did not come to its end. Throws `fan_out_mismatch` when there is one from the same file with other
 * tasks: both would do what they have in common.
 */
async function findUnfinished(
  stateDir: string,
  digest: string,
  { fresh = false, source }: FanOutSettings,
): Promise<string | undefined> {
  if (fresh) return undefined;
  const from = source === undefined ? undefined : resolve(source);
  let changed: FanOutRow | undefined;
  for (const id of listIds(stateDir)) {
    const row = await readRow(fanOutDirectory(stateDir, id));
    if (row === undefined || row.endedAt !== undefined) continue;
    if (row.digest === digest) return id;
    if (from !== undefined && row.source === from) changed = row;
  }
  if (changed === undefined) return undefined;
  throw mismatch(
    changed.id,
    `this fan-out of ${changed.source} is not finished, and the file or its options were changed since`,
    `--resume ${changed.id} goes on with the tasks as they were; --new begins a new one with those that are there now`,
  );
}

/** Undefined for what is no state of ours: nothing can be said of it. */
async function readRow(directory: string): Promise<FanOutRow | undefined> {
  try {
    const state = await openFanOutState(directory, { readOnly: true });
    try {
      return state.row();
    } finally {
      state.close();
    }
  } catch (error) {
    if (error instanceof AgentHooksRefused) return undefined;
    throw error;
  }
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isFanOutId(text: string): boolean {
  return ID.test(text);
}

/** Ids of the fan-outs of a state directory. */
export function listIds(stateDir: string): string[] {
  try {
    return readdirSync(fanOutsDirectory(stateDir)).filter(isFanOutId).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** The commit of each task's worktree, as it is now: a branch that moves on changes no task that is left. */
async function findBases(specs: readonly TaskSpec[]): Promise<Map<number, string>> {
  const bases = new Map<number, string>();
  const issues: Issue[] = [];
  const known = new Map<string, Promise<string>>();
  for (const { index, id, worktree, cwd, base } of specs) {
    if (!worktree) continue;
    const key = JSON.stringify([cwd, base]);
    const commit = known.get(key) ?? findRepository(cwd, base).then((it) => it.commit);
    known.set(key, commit);
    await commit.then(
      (it) => bases.set(index, it),
      (error: Error) =>
        issues.push({
          code: "option_invalid",
          path: `task ${id} worktree`,
          message: `no worktree can be made of ${cwd}: ${error.message}`,
          hint: "a worktree needs a git repository with a commit",
        }),
    );
  }
  refuseIfAny(issues);
  return bases;
}

export function mismatch(
  path: string,
  message: string,
  hint = "`--new` begins a new one",
): AgentHooksRefused {
  return new AgentHooksRefused([{ code: "fan_out_mismatch", path, message, hint }]);
}

export type { HooksOfTask };
