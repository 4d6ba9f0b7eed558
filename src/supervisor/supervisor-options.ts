// Everything a program can say about a supervisor and about one of its runs, and the check of it.

import { availableParallelism } from "node:os";
import type { z } from "zod";
import { type Issue, refuseIfAny } from "../errors.ts";
import { lateSchema } from "../packages.ts";
import { SHUTDOWN_MS } from "./live-runs.ts";

export interface SupervisorOptions {
  /** Runs at a time, from the start to the delivered result. @default os.availableParallelism() */
  readonly concurrency?: number;
  /** Runs that may wait; one more refuses with `queue_full`. @default 1000 */
  readonly queueLimit?: number;
  /** At most `starts` within `perMs` milliseconds from the first of them. @default no limit */
  readonly startRate?: { readonly starts: number; readonly perMs: number };
  /** File descriptors that one run needs at most. @default 32 */
  readonly descriptorsPerRun?: number;
  /** Memory that one agent will need. Bytes. @default 268435456 (256 MiB) */
  readonly memoryPerRunBytes?: number;
  /** Memory that no start may take. Bytes. @default 268435456 (256 MiB) */
  readonly minFreeMemoryBytes?: number;
  /** For runs that do not say it themselves; see `SpawnOptions.shutdown`. @default "stop" */
  readonly shutdown?: "stop" | "off";
  /** From a stop to KILL, for all runs together. Milliseconds. @default 10000 */
  readonly shutdownMs?: number;
}

export interface QueueOptions {
  /** Higher ones start first; first come, first served among equals. @default 0 */
  readonly priority?: number;
  /** Aborted: a waiting run leaves the queue, a started one is stopped. Beside the run's own `signal`. */
  readonly signal?: AbortSignal;
}

export const DEFAULT_SUPERVISOR = {
  queueLimit: 1000,
  descriptorsPerRun: 32,
  memoryPerRunBytes: 256 * 1024 * 1024,
  minFreeMemoryBytes: 256 * 1024 * 1024,
  shutdown: "stop",
  shutdownMs: SHUTDOWN_MS,
} as const;

const TIMER_MAX_MS = 2 ** 31 - 1;
const optionSchemas = lateSchema((z) => {
  const count = z.int().min(0);

  const supervisor = z
    .strictObject({
      concurrency: z.int().min(1),
      queueLimit: count,
      startRate: z.strictObject({ starts: z.int().min(1), perMs: z.int().min(1).max(TIMER_MAX_MS) }),
      descriptorsPerRun: count,
      memoryPerRunBytes: count,
      minFreeMemoryBytes: count,
      shutdown: z.enum(["stop", "off"]),
      shutdownMs: z.number().min(1).max(TIMER_MAX_MS),
    })
    .partial() satisfies z.ZodType<{ [Name in keyof SupervisorOptions]?: unknown }>;

  const queue = z
    .strictObject({ priority: z.number(), signal: z.instanceof(AbortSignal) })
    .partial() satisfies z.ZodType<{ [Name in keyof QueueOptions]?: unknown }>;
  return { supervisor, queue };
});

export type SupervisorSettings = Required<Omit<SupervisorOptions, "startRate">> &
  Pick<SupervisorOptions, "startRate">;

/** @throws AgentHooksRefused `option_invalid` for each option that is unknown or cannot be used. */
export function resolveSupervisorOptions(options: SupervisorOptions): SupervisorSettings {
  refuseIfAny(listIssues(optionSchemas().supervisor.safeParse(options).error));
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { concurrency: availableParallelism(), ...DEFAULT_SUPERVISOR, ...Object.fromEntries(given) };
}

/** @throws AgentHooksRefused `option_invalid` */
export function checkQueueOptions(options: QueueOptions): void {
  refuseIfAny(listIssues(optionSchemas().queue.safeParse(options).error));
}

function listIssues(error: z.ZodError | undefined): Issue[] {
  const base = { code: "option_invalid", hint: "see docs/SUPERVISOR.md" } as const;
  return (error?.issues ?? []).flatMap((issue): Issue[] =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({
          ...base,
          path: [...issue.path, key].join("."),
          message: "is not an option",
        }))
      : [{ ...base, path: issue.path.join(".") || "options", message: issue.message }],
  );
}
