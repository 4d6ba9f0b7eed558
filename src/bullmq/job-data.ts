// What a job holds, and the check of it: before it is put into the queue, and again when it is taken out. Names field and value. Pure.

import { isAbsolute } from "node:path";
import { z } from "zod";
import { AgentHooksRefused, type Issue, refuseIfAny } from "../errors.ts";
import { describeValue } from "../hooks/options.ts";
import type { Provider } from "../profile/events.ts";

/** One run of an agent. What loosens a run (permission mode, sandbox, variables) is the worker's to say, not a job's. */
export interface AgentJob {
  /** At most 262144 characters. In the parent of a flow `{{children}}` and `{{children.NAME.FIELD}}` are filled in. */
  readonly prompt: string;
  readonly provider: Provider;
  /** Absolute working directory on the worker's machine. One agent at a time is in it. */
  readonly cwd: string;
  /** sha256 of the declaration, as `publish` returns it. */
  readonly declaration: string;
  readonly model?: string;
  /** Whose limits count: see `limitAccount`. At most 128 of `A-Za-z0-9._@-`. */
  readonly account?: string;
  /** Starts after a transient failure, at most 100. @default 3 */
  readonly retries?: number;
  readonly budget?: JobBudget;
  /** When the worker died or lost its lease while the agent worked: try again, or fail. @default "retry" */
  readonly onLost?: "retry" | "fail";
}

export interface JobBudget {
  /** claude alone, which keeps to it itself (`--max-budget-usd`). */
  readonly costUsd?: number;
  /** claude alone: most agentic turns. */
  readonly turns?: number;
  /** The whole run. Milliseconds, at most 2147483647. */
  readonly wallMs?: number;
}

export const PROMPT_MAX = 262_144;
export const DEFAULT_RETRIES = 3;
export const ACCOUNT_PATTERN = /^[A-Za-z0-9._@-]{1,128}$/;
export const DIGEST_PATTERN = /^[0-9a-f]{64}$/;

const schema = z.strictObject({
  prompt: z
    .string()
    .max(PROMPT_MAX)
    .refine((text) => text.trim() !== "", "must not be blank"),
  provider: z.enum(["claude", "codex"]),
  cwd: z.string().max(4096).refine(isPath, "must be an absolute path"),
  declaration: z.string().regex(DIGEST_PATTERN, "must be 64 hexadecimal digits"),
  model: z.string().min(1).max(256).optional(),
  account: z.string().regex(ACCOUNT_PATTERN, "must be 1 to 128 of A-Z a-z 0-9 . _ @ -").optional(),
  retries: z.int().min(0).max(100).optional(),
  budget: z
    .strictObject({
      costUsd: z.number().positive(),
      turns: z.int().min(1),
      wallMs: z
        .int()
        .min(1)
        .max(2 ** 31 - 1),
    })
    .partial()
    .optional(),
  onLost: z.enum(["retry", "fail"]).optional(),
}) satisfies z.ZodType<AgentJob, unknown>;

function isPath(text: string): boolean {
  return isAbsolute(text) && !text.includes("\0");
}

/** @throws AgentHooksRefused `job_invalid` for each field that is unknown or cannot be used. */
export function parseAgentJob(value: unknown, path = "job"): AgentJob {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) {
    refuseIfAny(listUnkeptBudgets(data, path));
    return data;
  }
  refuseIfAny(
    error.issues.flatMap((issue): Issue[] => {
      const base = { code: "job_invalid", hint: "see docs/SCALE.md" } as const;
      if (issue.code === "unrecognized_keys")
        return issue.keys.map((key) => ({
          ...base,
          path: [path, ...issue.path, key].join("."),
          message: "is not a field of a job",
        }));
      const seen = describeValue(valueAt(value, issue.path));
      return [{ ...base, path: [path, ...issue.path].join("."), message: `${issue.message}, got ${seen}` }];
    }),
  );
  throw new Error("a job that is invalid has an issue");
}

/** A budget that nobody would keep to is refused. */
function listUnkeptBudgets({ provider, budget = {} }: AgentJob, path: string): Issue[] {
  if (provider === "claude") return [];
  return (["costUsd", "turns"] as const)
    .filter((name) => budget[name] !== undefined)
    .map((name) => ({
      code: "job_invalid",
      path: `${path}.budget.${name}`,
      message: `${provider} tells neither cost nor turns, got ${budget[name]}`,
      hint: "use budget.wallMs",
    }));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) =>
      typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** When it is put in, and when it may start. */
export interface AddOptions {
  /** Its id in the queue, at most 128 of `A-Za-z0-9._-`. One that is there already is not added again. @default chosen by BullMQ */
  readonly jobId?: string;
  /** From 0 to 1000. Higher ones start first, equal ones in the order they came. @default 0 */
  readonly priority?: number;
  /** Not before this much has passed. Milliseconds. @default 0 */
  readonly delayMs?: number;
  /** How many ended jobs are kept, for `outcome`. @default 1000 */
  readonly keep?: number;
}

const addSchema = z
  .strictObject({
    jobId: z
      .string()
      .regex(/^(?!\d+$)[A-Za-z0-9._-]{1,128}$/, "must be 1 to 128 of A-Z a-z 0-9 . _ -, not digits alone"),
    priority: z.int().min(0).max(1000),
    delayMs: z.int().min(0),
    keep: z.int().min(1),
  })
  .partial() satisfies z.ZodType<{ [Name in keyof AddOptions]?: unknown }>;

/** @throws AgentHooksRefused `option_invalid` */
export function checkAddOptions(options: unknown): AddOptions {
  const { data, error } = addSchema.safeParse(options);
  if (data !== undefined) return data as AddOptions;
  throw new AgentHooksRefused(
    error.issues.map((issue) => ({
      code: "option_invalid",
      path: issue.path.join(".") || "options",
      message: `${issue.message}, got ${describeValue(valueAt(options, issue.path))}`,
      hint: "see docs/SCALE.md",
    })),
  );
}
