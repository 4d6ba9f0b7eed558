// agent-bridle/bullmq: agents as jobs of a queue, on many machines. The public list, nothing else. Needs the package bullmq.

export type { QueueConnection } from "./connection.ts";
export {
  type AgentQueue,
  type AgentQueueOptions,
  type CancelAnswer,
  createAgentQueue,
  type FlowTask,
  type JobReport,
  type ScheduleTime,
} from "./create-queue.ts";
export { type AgentWorker, createAgentWorker } from "./create-worker.ts";
export type { AddOptions, AgentJob, JobBudget } from "./job-data.ts";
export type { JobOutcome, JobProgress, WaitingPhase } from "./outcome.ts";
export type { ChildOutcome, PreparePrompt } from "./prepare-prompt.ts";
export { type AllowedDeclarations, declarationDigest } from "./ship-declaration.ts";
export { type AgentWorkerOptions, DEFAULT_WORKER, type WorkerProblem } from "./worker-options.ts";
