// Proves one binary: starts the worker, gathers its results into a record, keeps it.

import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { ProviderBinary } from "../compiler/plan.ts";
import { signalGroup } from "../exec/process-group.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { endTree, kill } from "../spawn/stop.ts";
import { loadMatrix, type Matrix } from "./matrix/load.ts";
import type { CaseResult } from "./matrix/run-case.ts";
import type { MatrixCase } from "./matrix/schema.ts";
import { PROOF_FORMAT, type Proof, type ProvenCase, sealProof } from "./proof.ts";
import { bytesOf, proofKeyOf } from "./proof-key.ts";
import { prepareScratch } from "./scratch.ts";
import { startWorker, type Worker } from "./start-worker.ts";
import type { Job } from "./worker.ts";

const GRACE_MS = 10_000;

export interface ProofProgress {
  readonly done: number;
  readonly total: number;
  readonly case: ProvenCase;
}

export interface ProveBinaryOptions {
  readonly binary: ProviderBinary;
  /** @default "core" */
  readonly set?: "core" | "all";
  /** Only these case ids. Such a proof is not kept. */
  readonly only?: readonly string[];
  /** Cases at a time. @default one more than there are processors, at most 6 */
  readonly jobs?: number;
  readonly onProgress?: (progress: ProofProgress) => void;
  readonly signal?: AbortSignal;
  /** @default process.env */
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs the cases and returns the sealed record; keeps nothing. Rejects when the worker fails or `signal` aborts. */
export async function proveBinary(options: ProveBinaryOptions): Promise<Proof> {
  const { binary, set = "core", only = [], onProgress, signal } = options;
  const startedAt = performance.now();
  const provedAt = new Date().toISOString();
  const matrix = await loadMatrix();
  const key = proofKeyOf(binary, matrix);
  const parent = join(stateDirectory(options.env), "prove");
  const marker = `prove-${process.pid}-${randomUUID()}`;
  const scratch = join(parent, marker);
  await prepareScratch(parent, scratch, options.env ?? process.env);
  try {
    signal?.throwIfAborted();
    const worker = await startWorker(scratch, marker, signal);
    const job: Job = {
      provider: binary.provider,
      binary: binary.identity.path,
      set,
      only: [...only],
      jobs: options.jobs ?? Math.min(availableParallelism() + 1, 6),
      network: worker.network,
      scratch,
    };
    const cases = await gather(worker, job, { matrix, marker, signal, onProgress });
    return sealProof({
      format: PROOF_FORMAT,
      provider: binary.provider,
      version: binary.version,
      binary: bytesOf(binary),
      platform: key.platform,
      profile: key.profile,
      bridle: key.bridle,
      matrix: key.matrix,
      set: only.length > 0 ? "part" : set,
      network: worker.network,
      provedAt,
      durationMs: Math.round(performance.now() - startedAt),
      cases,
    });
  } finally {
    await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface GatherContext {
  readonly matrix: Matrix;
  readonly marker: string;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ProveBinaryOptions["onProgress"];
}

async function gather(
  { child, lines }: Worker,
  job: Job,
  { matrix, marker, signal, onProgress }: GatherContext,
): Promise<ProvenCase[]> {
  const found: ProvenCase[] = [];
  let isDone = false;
  const onAbort = () => child.stdin.end();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    child.stdin.write(`${JSON.stringify(job)}\n`);
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
      const line = next.value;
      if (line.type === "started" && line.matrix !== matrix.digest)
        throw new Error("the matrix changed while it was proven");
      if (line.type === "error") signal?.throwIfAborted();
      if (line.type === "error") throw new Error(`the proof could not be run: ${line.message}`);
      if (line.type === "done") isDone = true;
      if (line.type !== "case") continue;
      const item = describe(line.result, matrix.cases);
      found.push(item);
      onProgress?.({ done: line.done, total: line.total, case: item });
    }
    signal?.throwIfAborted();
    if (!isDone) throw new Error(`the proving process ended early: ${child.stderrTail().trim().slice(-500)}`);
    const order = (it: ProvenCase) =>
      matrix.cases.findIndex(({ id, column }) => id === it.id && column === it.column);
    return found.sort((a, b) => order(a) - order(b));
  } finally {
    signal?.removeEventListener("abort", onAbort);
    child.stdin.end();
    await endWorker(child, marker);
  }
}

/** The end of its stdin tells a worker to stop its runs; what is left after the grace is ended with it. */
async function endWorker(child: Worker["child"], marker: string): Promise<void> {
  const timer = setTimeout(() => signalGroup(kill, child.groupId, "SIGKILL"), GRACE_MS);
  await child.exited;
  clearTimeout(timer);
  await endTree(child, marker);
}

function describe(result: CaseResult, cases: readonly MatrixCase[]): ProvenCase {
  const { id, column, verdict, required, observed, durationMs } = result;
  const source = cases.find((it) => it.id === id && it.column === column);
  if (source === undefined)
    throw new Error(`the worker told of a case that is not in the matrix: ${id} on ${column}`);
  const { title, kind, event, rule, core = false, because, downgrade } = source;
  return {
    ...{ id, column, title, kind, event, rule, core, required, verdict, observed, durationMs },
    ...(because === undefined ? {} : { because }),
    ...(downgrade === undefined ? {} : { downgrade }),
  };
}
