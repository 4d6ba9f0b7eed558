// fanOut: many tasks, each an agent's run. Nothing begins before it is iterated.

import { importZod } from "../packages.ts";
import { createEngine, type Engine, NOT_READ } from "./engine.ts";
import { openFanOut } from "./open-fan-out.ts";
import { type FanOutOptions, resolveFanOutOptions, type TaskEnding } from "./options.ts";
import { readTasks } from "./read-tasks.ts";
import type { FanOutTask, PlacedTask } from "./task.ts";

/** The tasks that end while it is read, in the order in which they do. To be read once. */
export interface FanOut extends AsyncIterable<TaskEnding> {
  /**
   * Starts nothing more and stops what runs; the iteration then ends. What was stopped or did not start is left for a resume.
   *
   * @param reason told in the reason of each run. @default "stopped"
   */
  stop(reason?: string): Promise<void>;
}

/**
 * Runs a task for each of many. Nothing begins before it is iterated; leaving the iteration stops it.
 *
 * @param tasks undefined: those of `options.resume`.
 * @throws AgentHooksRefused from the first step of the iteration, before anything is started: every problem of the tasks, the options and
 *   the hooks; `fan_out_busy`, `fan_out_mismatch`, `store_unavailable`.
 * @example
 * const tasks = files.map((file) => ({ id: file, file }));
 * for await (const { id, outcome, reason } of fanOut(tasks, { provider: "codex", prompt: "Fix {{file}}", worktree: true }))
 *   console.log(id, outcome, reason);
 */
export function fanOut(
  tasks: Iterable<FanOutTask> | AsyncIterable<FanOutTask> | undefined,
  options: FanOutOptions = {},
): FanOut {
  return createFanOut(async () => (tasks === undefined ? undefined : await placeTasks(tasks)), options);
}

/** As `fanOut`, with the tasks of a JSONL, YAML or CSV file. */
export function fanOutFile(path: string, options: FanOutOptions = {}): FanOut {
  return createFanOut(() => readTasks(path), { source: path, ...options });
}

async function placeTasks(tasks: Iterable<FanOutTask> | AsyncIterable<FanOutTask>): Promise<PlacedTask[]> {
  const placed: PlacedTask[] = [];
  for await (const task of tasks) placed.push({ task, place: `tasks[${placed.length}]` });
  return placed;
}

function createFanOut(read: () => Promise<PlacedTask[] | undefined>, options: FanOutOptions): FanOut {
  let askedToStop: string | undefined;
  let engine: Engine | undefined;
  let isRead = false;
  async function* iterate(): AsyncGenerator<TaskEnding, void, undefined> {
    await importZod();
    const settings = resolveFanOutOptions(options);
    const opened = await openFanOut(await read(), settings);
    engine = createEngine(opened, settings);
    if (askedToStop !== undefined) void engine.stop(askedToStop);
    yield* engine.run();
  }
  return {
    async stop(reason = "stopped") {
      askedToStop ??= reason;
      await engine?.stop(askedToStop);
    },
    [Symbol.asyncIterator]() {
      if (isRead) throw new Error("a fan-out is iterated once");
      isRead = true;
      const endings = iterate();
      return {
        next: () => endings.next(),
        // A generator that waits for the next ending would stop nothing before it has come.
        async return() {
          askedToStop ??= NOT_READ;
          await engine?.stop(askedToStop);
          return endings.return();
        },
      };
    },
  };
}
