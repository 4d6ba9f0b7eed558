// Everything a program can say about a fan-out, and the check of it.

import { resolve } from "node:path";
import type { RenderedHooks } from "../compiler/token.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import { type Issue, refuseIfAny } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { lateSchema } from "../packages.ts";
import { PROVIDERS, type Provider } from "../profile/events.ts";
import type { BackoffOptions } from "../retry/backoff.ts";
import type { AgentEvent } from "../spawn/events.ts";
import type { SpawnOptions } from "../spawn/options.ts";
import type { AttemptRecord, TaskOutcome } from "./record.ts";
import { isAmount, show } from "./task.ts";

/** What a fan-out says of itself while it runs. */
export type FanOutProgress =
  | {
      readonly type: "opened";
      readonly id: string;
      readonly directory: string;
      readonly tasks: number;
      readonly finished: number;
      readonly isResumed: boolean;
    }
  /** What became of a run that a dead fan-out had left. */
  | {
      readonly type: "recovered";
      readonly index: number;
      readonly id: string;
      readonly runId: string;
      readonly outcome: TaskOutcome;
      readonly reason: string;
    }
  | {
      readonly type: "attempt_started";
      readonly index: number;
      readonly id: string;
      readonly attempt: number;
      readonly runId: string;
      readonly cwd: string;
    }
  | { readonly type: "event"; readonly index: number; readonly id: string; readonly event: AgentEvent }
  | {
      readonly type: "attempt_ended";
      readonly index: number;
      readonly id: string;
      readonly attempt: AttemptRecord;
      readonly retryInMs?: number;
    }
  | { readonly type: "task_ended"; readonly ending: TaskEnding }
  /** From here nothing more is started. */
  | { readonly type: "admission_stopped"; readonly reason: string }
  | { readonly type: "warning"; readonly message: string };

/** How a task ended: told once. */
export interface TaskEnding {
  readonly fanOutId: string;
  readonly index: number;
  readonly id: string;
  readonly provider: Provider;
  readonly outcome: TaskOutcome;
  readonly reason: string;
  /** Starts that it took. */
  readonly attempts: number;
  /** Of the last run. */
  readonly runId?: string;
  /** Of all attempts, as far as the provider told. */
  readonly costUsd?: number;
  readonly turns?: number;
  readonly denied?: number;
  /** UTC, ISO 8601. Of the first attempt; not there when there was none. */
  readonly startedAt?: string;
  readonly endedAt: string;
  /** What the agent said last, at most a million characters. */
  readonly finalText?: string;
  /** Worktrees that were kept. */
  readonly worktrees?: readonly string[];
}

export type KeepWorktree = "always" | "changed" | "never";

/** Asked once for each different file and provider. `file`: a task's own `hooks`; undefined: the fan-out's. */
export type CompileHooks = (what: {
  readonly file: string | undefined;
  readonly provider: Provider;
}) => Promise<RenderedHooks>;

export interface FanOutOptions {
  /** Absolute, or relative to this process. Where tasks work that do not say it, and what their paths are relative to. @default "." */
  readonly cwd?: string;
  /** Of tasks that do not name theirs. */
  readonly provider?: Provider;
  /**
   * The hooks of tasks that do not name theirs: the path of a declaration file, a declaration, or a function that compiles. @default the
   * settings of the user and of the project around `cwd`
   */
  readonly hooks?: string | HookDeclaration | CompileHooks;
  /** Of the provider that is named for the fan-out. @default found on PATH */
  readonly binary?: string;
  /** @default "auto" */
  readonly prove?: "auto" | "require" | "off";
  /** Prompt of tasks without one, with `{{field}}` for their fields. */
  readonly prompt?: string;
  /** @default false */
  readonly worktree?: boolean;
  /** @default HEAD, as it is when the fan-out is begun */
  readonly base?: string;
  /** Which worktrees stay. `changed`: with changes or commits of their own. @default "changed" */
  readonly keepWorktree?: KeepWorktree;
  readonly model?: string;
  /** For each task without its own; see `FanOutTask`. */
  readonly maxCostUsd?: number;
  readonly maxTurns?: number;
  readonly maxSeconds?: number;
  /** US dollars that all attempts may have cost when another one is started. */
  readonly totalCostUsd?: number;
  /** Seconds since this start of the fan-out, after which nothing more is started. */
  readonly totalSeconds?: number;
  /** @default os.availableParallelism() */
  readonly concurrency?: number;
  readonly startRate?: { readonly starts: number; readonly perMs: number };
  /** Further tries of a task whose run failed in passing. @default 3 */
  readonly retries?: number;
  /** What becomes of a task whose fan-out died while it ran. @default "retry" */
  readonly onLost?: "retry" | "fail";
  /** What becomes of a task whose run was stopped by somebody else. @default "fail" */
  readonly onInterrupted?: "retry" | "fail";
  /** Another try goes on in the session of the failed one, or begins anew. @default "resume" */
  readonly session?: "resume" | "fresh";
  readonly backoff?: BackoffOptions;
  /** Longest time that the reset of a limit is waited for. Milliseconds. @default 21600000 (6 h) */
  readonly longestWaitMs?: number;
  /** Goes on with this one. Given without tasks it takes those that were given then. */
  readonly resume?: string;
  /** Begins anew, also when one of the same tasks is unfinished. @default false */
  readonly fresh?: boolean;
  /** Of a resumed one: runs the tasks that were skipped. @default false */
  readonly runSkipped?: boolean;
  /** Takes a fan-out that ran on another machine or in another container for dead. @default false */
  readonly assumeDead?: boolean;
  /** What the tasks were read from, for messages and to find an unfinished one. */
  readonly source?: string;
  /** Kept in the state, for whoever resumes. Nothing of it is used here. */
  readonly note?: JsonObject;
  /** Aborted: stops as `stop` does. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: FanOutProgress) => void;
  /** Options of every run; what a task says wins. The state is kept in the state directory of its `baseEnv`. */
  readonly spawn?: Omit<
    Partial<SpawnOptions>,
    | "hooks"
    | "provider"
    | "prompt"
    | "cwd"
    | "resume"
    | "keepSession"
    | "signal"
    | "events"
    | "workspace"
    | "model"
    | "maxTurns"
  >;
}

export const DEFAULT_FAN_OUT = {
  keepWorktree: "changed",
  retries: 3,
  onLost: "retry",
  onInterrupted: "fail",
  session: "resume",
  longestWaitMs: 6 * 60 * 60_000,
} as const satisfies Partial<FanOutOptions>;

export type FanOutSettings = FanOutOptions & {
  readonly cwd: string;
} & Required<Pick<FanOutOptions, keyof typeof DEFAULT_FAN_OUT>>;

const schema = lateSchema((z) => {
  const text = z.string().min(1);
  const amount = (name: string) => z.custom((value) => isAmount(name, value), "expected a number above 0");
  const anyFunction = z.custom((value) => typeof value === "function", "expected a function");
  const object = z.custom((value) => typeof value === "object" && value !== null, "expected an object");
  return z
    .strictObject({
      cwd: text,
      provider: z.enum(PROVIDERS as readonly [Provider, ...Provider[]]),
      hooks: z.union([text, anyFunction, object]),
      binary: text,
      prove: z.enum(["auto", "require", "off"]),
      prompt: text,
      worktree: z.boolean(),
      base: text,
      keepWorktree: z.enum(["always", "changed", "never"]),
      model: text,
      maxCostUsd: amount("maxCostUsd"),
      maxTurns: amount("maxTurns"),
      maxSeconds: amount("maxSeconds"),
      totalCostUsd: amount("totalCostUsd"),
      totalSeconds: amount("totalSeconds"),
      // Checked again by the supervisor.
      concurrency: z.int().min(1),
      startRate: object,
      retries: z.int().min(0),
      onLost: z.enum(["retry", "fail"]),
      onInterrupted: z.enum(["retry", "fail"]),
      session: z.enum(["resume", "fresh"]),
      backoff: object,
      longestWaitMs: z.number().min(0),
      resume: text,
      fresh: z.boolean(),
      runSkipped: z.boolean(),
      assumeDead: z.boolean(),
      source: text,
      note: object,
      signal: z.instanceof(AbortSignal),
      onProgress: anyFunction,
      spawn: object,
    } satisfies { [Name in keyof Required<FanOutOptions>]: unknown })
    .partial();
});

/** @throws AgentHooksRefused `option_invalid` for each option that is unknown or cannot be used. */
export function resolveFanOutOptions(options: FanOutOptions): FanOutSettings {
  const issues: Issue[] = [];
  const base = { code: "option_invalid", hint: "see docs/FANOUT.md" } as const;
  for (const issue of schema().safeParse(options).error?.issues ?? []) {
    if (issue.code === "unrecognized_keys")
      for (const key of issue.keys) issues.push({ ...base, path: key, message: "is not an option" });
    else {
      const [name = "options"] = issue.path.map(String);
      const seen = show((options as Readonly<Record<string, unknown>>)[name]);
      issues.push({
        ...base,
        path: issue.path.join(".") || "options",
        message: `${issue.message}, got ${seen}`,
      });
    }
  }
  if (options.resume !== undefined && options.fresh === true)
    issues.push({ ...base, path: "fresh", message: "cannot be true when resume names a fan-out" });
  if (options.binary !== undefined && options.provider === undefined)
    issues.push({
      ...base,
      path: "binary",
      message: "is of no use without provider: it cannot be told whose it is",
    });
  refuseIfAny(issues);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return { ...DEFAULT_FAN_OUT, ...given, cwd: resolve(options.cwd ?? ".") } as FanOutSettings;
}
