// What a worker and its lease thread say to each other. Plain data.

import type { ProcessIdentity } from "../journal/process-identity.ts";
import type { RedisOptions } from "./load-bullmq.ts";

export interface LeaseThreadData {
  readonly connection: RedisOptions;
  readonly name: string;
  readonly prefix: string;
  readonly leaseMs: number;
  readonly stallMs: number;
  readonly stateDir: string;
  readonly supervisor: ProcessIdentity;
  /** One BigInt64: the worker's event loop adds 1 while it turns. */
  readonly beat: SharedArrayBuffer;
}

export type ToLeaseThread =
  | { readonly type: "hold"; readonly jobId: string; readonly token: string; readonly attempt: string }
  /** From here on the lease of a directory is renewed too, and its run is ended when the lease is lost. */
  | { readonly type: "enter"; readonly attempt: string; readonly lease: string; readonly cwd: string }
  | { readonly type: "ask"; readonly attempt: string }
  | { readonly type: "drop"; readonly attempt: string }
  | { readonly type: "close" };

/**
 * - `taken`: the lease is another's, or gone; `expired`: it could not be renewed in time; `stalled`: the worker's event loop stood still;
 * - `thread`: the thread that renews has died.
 */
export type LossCause = "taken" | "expired" | "stalled" | "thread";

export type FromLeaseThread =
  | { readonly type: "ready" }
  | { readonly type: "held"; readonly attempt: string; readonly isHeld: boolean }
  /** `isSoon`: it will be lost unless Redis answers; the run is to be ended in an orderly way. */
  | { readonly type: "lost"; readonly attempt: string; readonly cause: LossCause; readonly isSoon: boolean }
  | { readonly type: "cancel"; readonly attempt: string; readonly reason: string }
  /** Comes behind all that was said of the attempt before. */
  | { readonly type: "asked"; readonly attempt: string }
  | { readonly type: "problem"; readonly message: string };
