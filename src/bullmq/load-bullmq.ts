// The one place that loads bullmq, which is an optional peer: whoever does not use the queue need not have it.

import { createRequire } from "node:module";
import { AgentHooksRefused } from "../errors.ts";

export type { FlowProducer, Job, JobsOptions, Queue, QueueEvents, RedisOptions, Worker } from "bullmq";

export type BullMq = typeof import("bullmq");

const MAJOR = "5";

/** Rejects with AgentHooksRefused `queue_unavailable` when it is missing or of another major version. */
export async function loadBullMq(): Promise<BullMq> {
  const version = installedVersion();
  if (version !== undefined && version.split(".")[0] !== MAJOR)
    throw refuse(`version ${version} is installed, and version ${MAJOR} is needed`);
  try {
    return await import("bullmq");
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
    throw refuse(isMissing ? "it is not installed" : "it cannot be loaded", cause);
  }
}

/** Undefined when that cannot be told: the import then tells what is wrong. */
function installedVersion(): string | undefined {
  try {
    const { version } = createRequire(import.meta.url)("bullmq/package.json") as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

function refuse(message: string, cause?: unknown): AgentHooksRefused {
  const word = cause instanceof Error ? `: ${cause.message}` : "";
  const hint = `npm install bullmq@${MAJOR}`;
  return new AgentHooksRefused(
    [{ code: "queue_unavailable", path: "bullmq", message: `${message}${word}`, hint }],
    { cause },
  );
}
