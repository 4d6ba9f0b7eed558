// Looks at fan-outs without touching them, also while one runs.

import { isAbsolute } from "node:path";
import { presenceOf } from "../journal/process-identity.ts";
import type { JsonObject } from "../json.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { isFanOutId, listIds, mismatch } from "./open-fan-out.ts";
import { fanOutDirectory, fanOutsDirectory } from "./open-state.ts";
import type { TaskEnding } from "./options.ts";
import type { FanOutRecord } from "./record.ts";
import { openFanOutState } from "./state.ts";
import { dropUndefined } from "./task.ts";

export interface ReadFanOutOptions {
  /** Absolute. @default `$XDG_STATE_HOME/bridle`, else `~/.local/state/bridle` */
  readonly stateDir?: string;
}

/**
 * What is known of a fan-out now.
 *
 * @param idOrDirectory its id, or the absolute path of its directory.
 * @throws AgentHooksRefused `fan_out_mismatch` when there is none, `store_unavailable` when it cannot be read.
 */
export async function readFanOut(
  idOrDirectory: string,
  options: ReadFanOutOptions = {},
): Promise<FanOutRecord> {
  return look(idOrDirectory, options, (state) => state.record());
}

/** How the finished tasks of a fan-out ended, by index. */
export async function readEndings(
  idOrDirectory: string,
  options: ReadFanOutOptions = {},
): Promise<TaskEnding[]> {
  return look(idOrDirectory, options, (state) => state.finished().map((index) => state.ending(index)));
}

/** What was given as `note` when it was begun. */
export async function readNote(idOrDirectory: string, options: ReadFanOutOptions = {}): Promise<JsonObject> {
  return look(idOrDirectory, options, (state) => state.row().note);
}

async function look<T>(
  idOrDirectory: string,
  { stateDir = stateDirectory() }: ReadFanOutOptions,
  read: (state: Awaited<ReturnType<typeof openFanOutState>>) => T,
): Promise<T> {
  const isId = isFanOutId(idOrDirectory);
  if (isId ? !listIds(stateDir).includes(idOrDirectory) : !isAbsolute(idOrDirectory))
    throw mismatch(
      idOrDirectory,
      `there is no such fan-out in ${fanOutsDirectory(stateDir)}`,
      "`bridle fanout --list` shows them",
    );
  const state = await openFanOutState(isId ? fanOutDirectory(stateDir, idOrDirectory) : idOrDirectory, {
    readOnly: true,
  });
  try {
    return read(state);
  } finally {
    state.close();
  }
}

export interface ListedFanOut {
  readonly id: string;
  /** `unreadable`: `problem` says why. */
  readonly state: "running" | "unfinished" | "finished" | "unreadable";
  /** Absolute. */
  readonly directory: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** The file that its tasks came from. */
  readonly source?: string;
  readonly tasks?: number;
  readonly finished?: number;
  /** Of the process that runs it. */
  readonly pid?: number;
  readonly problem?: string;
}

/** The fan-outs of a state directory, the latest first. */
export async function listFanOuts({
  stateDir = stateDirectory(),
}: ReadFanOutOptions = {}): Promise<ListedFanOut[]> {
  const listed = await Promise.all(
    listIds(stateDir).map((id) => describe(id, fanOutDirectory(stateDir, id))),
  );
  return listed.sort((one, other) => ((one.startedAt ?? "") < (other.startedAt ?? "") ? 1 : -1));
}

async function describe(id: string, directory: string): Promise<ListedFanOut> {
  try {
    const state = await openFanOutState(directory, { readOnly: true });
    try {
      const { startedAt, endedAt, source } = state.row();
      const { waiting, running, finished } = state.counts();
      const supervisor = state.supervisor();
      const presence = supervisor === undefined ? "gone" : presenceOf(supervisor);
      const isRunning = presence === "alive" || presence === "elsewhere";
      return dropUndefined<ListedFanOut>({
        id,
        state: isRunning ? "running" : endedAt === undefined ? "unfinished" : "finished",
        directory,
        startedAt,
        endedAt,
        source,
        tasks: waiting + running + finished,
        finished,
        pid: isRunning ? supervisor?.pid : undefined,
      });
    } finally {
      state.close();
    }
  } catch (error) {
    return {
      id,
      state: "unreadable",
      directory,
      problem: error instanceof Error ? error.message : String(error),
    };
  }
}
