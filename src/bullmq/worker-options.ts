// Everything a program can say about a worker, and the check of it.

import { availableParallelism } from "node:os";
import { isAbsolute } from "node:path";
import { z } from "zod";
import type { CompileOptions } from "../compiler/compile.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import { AgentHooksRefused, refuseIfAny } from "../errors.ts";
import type { Provider } from "../profile/events.ts";
import type { SpawnOptions } from "../spawn/options.ts";
import { checkPlace } from "./check-place.ts";
import { type QueueConnection, resolveConnection } from "./connection.ts";
import type { RedisOptions } from "./load-bullmq.ts";
import type { PreparePrompt } from "./prepare-prompt.ts";
import { DEFAULT_PREFIX } from "./redis-keys.ts";
import { type AllowedDeclarations, checkAllowed } from "./ship-declaration.ts";

export interface AgentWorkerOptions {
  readonly connection: QueueConnection;
  /** The queue's name. */
  readonly name: string;
  /** Which declarations it runs. There is no default. */
  readonly allow: AllowedDeclarations;
  /** Folders below which jobs may name a `cwd`, absolute, and there. @default every directory */
  readonly roots?: readonly string[];
  /** Agents at a time. @default os.availableParallelism() */
  readonly concurrency?: number;
  /**
   * How long a job is this worker's without a word of it. Its agent is ended when the lease could not be renewed for 0.8 of it. Milliseconds,
   * 2000 or more. @default 30000
   */
  readonly leaseMs?: number;
  /** How long the worker's event loop may stand still before its agents are ended and its jobs given up. Milliseconds. @default 60000 */
  readonly stallMs?: number;
  /** How often a job may be taken over from a worker that died. One more fails it. @default 3 */
  readonly maxTakeOvers?: number;
  /** Wait before a job whose workspace is in use is looked at again. Milliseconds. @default 5000 */
  readonly busyDelayMs?: number;
  /** At most one write of a job's progress in this time. Milliseconds. @default 1000 */
  readonly progressMs?: number;
  /** `close` waits this long for agents before it stops them and hands their jobs back. Milliseconds. @default 0 */
  readonly graceMs?: number;
  /**
   * `shared`: one path is one directory for all workers. `local`: each machine has its own behind the same path. @default "shared"
   */
  readonly workspaces?: "shared" | "local";
  /** Guards of this worker's own, beside those of each declaration. */
  readonly guards?: HookDeclaration;
  /** Where each agent's binary is: absolute, and an executable file. @default found on PATH */
  readonly binaries?: Partial<Readonly<Record<Provider, string>>>;
  readonly compile?: Pick<CompileOptions, "prove" | "transport" | "proofDir" | "path" | "selftest">;
  /** What every run has: what loosens one is said here, and in no job. Options of one provider alone are left out for jobs of the other. */
  readonly run?: Partial<
    Omit<SpawnOptions, "hooks" | "prompt" | "cwd" | "workspace" | "shutdown" | "signal" | "baseEnv">
  >;
  /** Says what a job's agent is asked, with the outcomes of its children. @default the prompt, with `{{children}}` filled in */
  readonly preparePrompt?: PreparePrompt;
  /** The environment everything is taken from, the state directory too. @default process.env */
  readonly env?: NodeJS.ProcessEnv;
  /** BullMQ's. @default "bull" */
  readonly prefix?: string;
  /** Told of what went wrong and is not a job's outcome. @default a line on stderr */
  readonly onProblem?: (problem: WorkerProblem) => void;
}

export interface WorkerProblem {
  /** `redis`: a connection or a command failed; `lease`: a lease was lost; `recovery`: a lost run needs somebody; `job`: a job could not be settled. */
  readonly kind: "redis" | "lease" | "recovery" | "job";
  readonly message: string;
  readonly jobId?: string;
}

export const DEFAULT_WORKER = {
  leaseMs: 30_000,
  stallMs: 60_000,
  maxTakeOvers: 3,
  busyDelayMs: 5_000,
  progressMs: 1_000,
  graceMs: 0,
  workspaces: "shared",
  prefix: DEFAULT_PREFIX,
} as const;

const TIMER_MAX_MS = 2 ** 31 - 1;
const wait = z.int().min(1).max(TIMER_MAX_MS);
const anyObject = z.custom((value) => typeof value === "object" && value !== null, "expected an object");
const anyFunction = z.custom((value) => typeof value === "function", "expected a function");

/** BullMQ puts it between colons. */
export const queueName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,128}$/, "expected 1 to 128 of A-Z a-z 0-9 . _ -");

const schema = z
  .strictObject({
    connection: z.unknown(),
    name: z.unknown(),
    allow: z.unknown(),
    roots: z.array(z.string().refine(isAbsolute, "expected an absolute path")).min(1),
    concurrency: z.int().min(1),
    leaseMs: z.int().min(2_000).max(3_600_000),
    stallMs: wait,
    maxTakeOvers: z.int().min(0).max(1_000_000),
    busyDelayMs: wait,
    progressMs: wait,
    graceMs: z.int().min(0).max(TIMER_MAX_MS),
    workspaces: z.enum(["shared", "local"]),
    guards: anyObject,
    binaries: z.strictObject({ claude: z.string(), codex: z.string() }).partial(),
    compile: anyObject,
    run: anyObject,
    preparePrompt: anyFunction,
    env: anyObject,
    prefix: z.string().min(1),
    onProblem: anyFunction,
  })
  .partial() satisfies z.ZodType<{ [Name in keyof AgentWorkerOptions]?: unknown }>;

export type WorkerSettings = Required<
  Pick<
    AgentWorkerOptions,
    keyof typeof DEFAULT_WORKER | "concurrency" | "env" | "onProblem" | "name" | "allow"
  >
> &
  Omit<AgentWorkerOptions, "connection"> & { readonly connection: RedisOptions };

/** @throws AgentHooksRefused `option_invalid` for each option that is unknown or cannot be used. */
export function resolveWorkerOptions(options: AgentWorkerOptions): WorkerSettings {
  const { error } = schema.safeParse(options);
  const base = { code: "option_invalid", hint: "see docs/SCALE.md" } as const;
  refuseIfAny(
    (error?.issues ?? []).flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => ({
            ...base,
            path: [...issue.path, key].join("."),
            message: "is not an option",
          }))
        : [{ ...base, path: issue.path.join(".") || "options", message: issue.message }],
    ),
  );
  checkName(options.name);
  checkAllowed(options.allow);
  checkPlace(options);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return {
    concurrency: availableParallelism(),
    env: process.env,
    onProblem: ({ kind, jobId, message }) => {
      const job = jobId === undefined ? "" : ` job ${jobId}`;
      process.stderr.write(`bridle worker: ${kind}${job}: ${message.replaceAll("\n", " ")}\n`);
    },
    ...DEFAULT_WORKER,
    ...(Object.fromEntries(given) as unknown as AgentWorkerOptions),
    connection: resolveConnection(options.connection),
  };
}

/** @throws AgentHooksRefused `option_invalid` */
export function checkName(name: unknown): asserts name is string {
  const { error } = queueName.safeParse(name);
  if (error === undefined) return;
  const message = error.issues[0]?.message ?? "is not a name";
  throw new AgentHooksRefused([{ code: "option_invalid", path: "name", message, hint: "" }]);
}
