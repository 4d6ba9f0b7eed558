// The names of what this part keeps in Redis beside BullMQ's own keys. Pure.

import { createHash } from "node:crypto";

/** BullMQ's own default. */
export const DEFAULT_PREFIX = "bull";

export function declarationKey(name: string, digest: string): string {
  return `bridle:{queue:${name}}:declaration:${digest}`;
}

/** Reason of a cancel; taken away with the end of the job. */
export function cancelKey(name: string, jobId: string): string {
  return `bridle:{queue:${name}}:cancel:${jobId}`;
}

/** Outcome of a job's last attempt that ended, as JSON. */
export function settledKey(name: string, jobId: string): string {
  return `bridle:{queue:${name}}:settled:${jobId}`;
}

/** Not of one queue: a directory is the same for all. */
export interface WorkspaceKeys {
  /** Who is in it now; expires with the lease. */
  readonly lease: string;
  /** Who was last in it and has not said that it left. Does not expire. */
  readonly holder: string;
  /** The highest token that was given out. */
  readonly fence: string;
}

/** @param scope `shared`, or a machine's name where a path means another directory on each. */
export function workspaceKeys(scope: string, path: string): WorkspaceKeys {
  const id = createHash("sha256").update(`${scope}\0${path}`).digest("hex").slice(0, 32);
  const of = (what: string) => `bridle:{workspace:${id}}:${what}`;
  return { lease: of("lease"), holder: of("holder"), fence: of("fence") };
}

export interface AccountKeys {
  readonly limit: string;
  readonly starts: string;
  readonly pause: string;
}

export function accountKeys(account: string): AccountKeys {
  const of = (what: string) => `bridle:{account:${account}}:${what}`;
  return { limit: of("limit"), starts: of("starts"), pause: of("pause") };
}
