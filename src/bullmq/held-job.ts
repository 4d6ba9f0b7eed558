// A job while this worker has it, and what the worker has for all of its jobs.

import { hostname } from "node:os";
import type { RenderedHooks } from "../compiler/token.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import type { Supervisor } from "../supervisor/create-supervisor.ts";
import type { AgentJob } from "./job-data.ts";
import type { Lease, LeaseKeeper } from "./lease-keeper.ts";
import type { BullMq, Job, Queue } from "./load-bullmq.ts";
import type { QueueClient, RedisCommands } from "./redis-commands.ts";
import type { WorkspaceKeys } from "./redis-keys.ts";
import type { ProgressReporter } from "./report-progress.ts";
import type { WorkerSettings } from "./worker-options.ts";

export interface JobContext {
  readonly bull: BullMq;
  readonly queue: Queue;
  readonly settings: WorkerSettings;
  readonly client: QueueClient;
  readonly commands: RedisCommands;
  readonly keeper: LeaseKeeper;
  readonly supervisor: Supervisor;
  /** Of this process. */
  readonly liveAttempts: Set<string>;
  /** Compiled for jobs of this worker, the newest last: their agent_exit hooks may be owed. */
  readonly tokens: RenderedHooks[];
  /** Aborted when the worker hands its jobs back. */
  readonly stopping: AbortSignal;
  /** Aborted when it ends without Redis: what was not told by then is the leases' to say. */
  readonly abandoned: AbortSignal;
}

export interface HeldJob {
  readonly job: Job;
  readonly jobId: string;
  readonly data: AgentJob;
  readonly workspace: string;
  readonly declaration: HookDeclaration;
  readonly attempt: string;
  readonly lease: Lease;
  readonly keys: WorkspaceKeys;
  readonly progress: ProgressReporter;
}

/** This process, as progress and outcomes name it. */
export const WORKER = `${hostname()} ${process.pid}`;
