// Plays a cassette back as a run. No process is started and nothing is waited for but the recorded time.

import { setTimeout as delay, setImmediate } from "node:timers/promises";
import type { AgentEvent } from "../../spawn/events.ts";
import type { RunResult } from "../../spawn/result.ts";
import type { AgentRun } from "../../spawn/run.ts";
import { createEventFeed } from "./event-feed.ts";
import { readCassette } from "./format.ts";

/** Node runs a timer above this at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface ReplayOptions {
  /**
   * `1` as fast as it was, `10` ten times as fast. `"instant"`: each event as soon as the consumer asks for it, so that a `stop`
   * between two events always comes in time. Default `"instant"`.
   */
  readonly speed?: number | "instant";
}

/**
 * The recorded run, with the events, numbers and result it had. `stop` and `interrupt` end it early, as `interrupted`; after its
 * result they change nothing. `pid` is NaN: there is no process, and a signal to it throws.
 *
 * @throws CassetteInvalid naming file and line; the file system's error when there is no such file; RangeError for a bad speed.
 * @example
 * const run = replayRun("test/cassettes/fix.jsonl");
 * for await (const event of run) handle(event);
 */
export function replayRun(path: string, { speed = "instant" }: ReplayOptions = {}): AgentRun {
  if (speed !== "instant" && !(Number.isFinite(speed) && speed > 0))
    throw new RangeError(`speed must be "instant" or a number above 0, got ${String(speed)}`);
  const { header, events, end } = readCassette(path);
  const feed = createEventFeed();
  const startedAt = performance.now();
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  let stopReason: string | undefined;
  let isOver = false;

  const waitUntil = async (at: number): Promise<void> => {
    if (speed === "instant") {
      await setImmediate();
      await Promise.race([feed.isAskedForMore(), stopped]);
      return;
    }
    const left = at / speed - (performance.now() - startedAt);
    await delay(Math.min(Math.max(0, left), LONGEST_TIMER_MS), undefined, { signal: stopping.signal }).catch(
      () => {},
    ); // stopped early
  };

  const result = (async () => {
    const played: AgentEvent[] = [];
    for (const { at, event } of events) {
      await waitUntil(at);
      if (stopReason !== undefined) break;
      if (event.type === "result") isOver = true;
      played.push(event);
      feed.push(event);
    }
    isOver = true;
    const final = stopReason === undefined ? end.result : cutShort(end.result, played, stopReason);
    if (stopReason !== undefined)
      feed.push({ type: "result", result: final, seq: (played.at(-1)?.seq ?? -1) + 1, runId: header.runId });
    feed.end();
    return final;
  })();

  const stop = (reason: string) => {
    if (!isOver) stopReason ??= reason;
    stopping.abort();
    return result;
  };
  return {
    id: header.runId,
    pid: Number.NaN,
    provider: header.provider,
    providerVersion: header.providerVersion,
    result,
    stop: (reason = "stopped") => stop(reason),
    interrupt: () => stop("interrupt"),
    [Symbol.asyncIterator]: () => feed[Symbol.asyncIterator](),
    [Symbol.asyncDispose]: async () => void (await stop("disposed")),
  };
}

/** The result of a run that was ended before its recorded end: nothing that had not been said yet. */
function cutShort(recorded: RunResult, played: readonly AgentEvent[], reason: string): RunResult {
  const said = played.findLast((event) => event.type === "message" && event.subagent !== true);
  return {
    ...recorded,
    outcome: "interrupted",
    reason,
    finalText: said?.type === "message" ? said.text : undefined,
    turns: undefined,
    usage: undefined,
    costUsd: undefined,
  };
}
