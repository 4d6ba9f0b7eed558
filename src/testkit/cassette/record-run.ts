// Records a run while it is used. The lines go to `<path>.part` as they come and the file gets its name when the result is in it, so
// `<path>` is always whole and what a killed recorder has left can be read by eye.

import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { AgentRun } from "../../spawn/run.ts";
import { createEventFeed } from "./event-feed.ts";
import { headerLine } from "./format.ts";

/** As in a run itself: events kept for a consumer that is not there yet, and waiting ones above which the run is paused. */
const KEPT_BEFORE_CONSUMER = 1024;
const HIGH_WATER = 4096;

export interface RecordedRun extends AgentRun {
  /** Resolves when the cassette is whole, with its path; rejects when it could not be written. The run itself does not mind. */
  readonly recorded: Promise<string>;
}

/**
 * Passes a run through and writes a cassette of it, mode 0600. An older file of that name is replaced at the end.
 * It becomes the one consumer of `run`; use the run it returns. Its `result` resolves when the cassette is whole.
 *
 * @throws the file system's error when the file cannot be made; the run is stopped then. `Error` when the run's events were taken.
 * @example
 * await using run = recordRun(await spawnAgent({ hooks, prompt, cwd }), "test/cassettes/fix.jsonl");
 * for await (const event of run) handle(event);
 */
export function recordRun(run: AgentRun, path: string): RecordedRun {
  const events = run[Symbol.asyncIterator]();
  const part = `${path}.part`;
  const startedAt = performance.now();
  const feed = createEventFeed({ keep: KEPT_BEFORE_CONSUMER });
  const file = openOrStop(run, part);
  let failure: unknown;
  const write = (line: string) => {
    if (failure !== undefined) return;
    try {
      writeSync(file, line);
    } catch (error) {
      failure = error;
    }
  };
  const stamp = (body: object) =>
    `${JSON.stringify({ at: Math.round(performance.now() - startedAt), ...body })}\n`;
  write(headerLine({ provider: run.provider, providerVersion: run.providerVersion, runId: run.id }));

  const recorded = (async () => {
    let count = 0;
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      write(stamp({ event: next.value }));
      count += 1;
      feed.push(next.value);
      await Promise.race([feed.hasRoom(HIGH_WATER), run.result]);
    }
    feed.end();
    write(stamp({ events: count, result: await run.result }));
    closeSync(file);
    if (failure !== undefined) throw failure;
    renameSync(part, path);
    return path;
  })();
  const afterwards = async <Value>(value: Value): Promise<Value> => {
    await recorded.catch(() => {}); // told by `recorded`
    return value;
  };

  return {
    id: run.id,
    pid: run.pid,
    provider: run.provider,
    providerVersion: run.providerVersion,
    result: run.result.then(afterwards),
    recorded,
    stop: async (reason) => afterwards(await run.stop(reason)),
    interrupt: async () => afterwards(await run.interrupt()),
    [Symbol.asyncIterator]: () => feed[Symbol.asyncIterator](),
    [Symbol.asyncDispose]: async () => {
      await run[Symbol.asyncDispose]();
      await recorded;
    },
  };
}

function openOrStop(run: AgentRun, part: string): number {
  try {
    rmSync(part, { force: true });
    return openSync(part, "wx", 0o600);
  } catch (error) {
    void run.stop("the cassette could not be made");
    throw error;
  }
}
