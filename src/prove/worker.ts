// The process that proves: reads one job from stdin, plays the cases, tells each result as a line of JSON on stdout. A process of its
// own, so that it can live in a network namespace and never shares the caller's environment. Ends when its stdin ends.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import { PROVIDERS, type Provider } from "../profile/events.ts";
import { columnsOf, loadMatrix } from "./matrix/load.ts";
import type { CaseResult } from "./matrix/run-case.ts";
import { runMatrix } from "./run-matrix.ts";

const jobSchema = z.strictObject({
  provider: z.enum(PROVIDERS as [Provider, ...Provider[]]),
  binary: z.string(),
  set: z.enum(["core", "all"]),
  /** Only these case ids; empty: all of the set. */
  only: z.array(z.string()),
  jobs: z.number().int().positive(),
  network: z.enum(["netns", "env"]),
  scratch: z.string(),
});
export type Job = z.infer<typeof jobSchema>;

export type WorkerLine =
  /** Sent before the job is read. `onlyLoopback`: there is no other way out of this process. */
  | { readonly type: "ready"; readonly onlyLoopback: boolean }
  | { readonly type: "started"; readonly total: number; readonly matrix: string }
  | { readonly type: "case"; readonly result: CaseResult; readonly done: number; readonly total: number }
  | { readonly type: "done" }
  | { readonly type: "error"; readonly message: string };

/** Where nothing listens: a request that does not go to loopback ends there. */
const DEAD_PROXY = "http://127.0.0.1:9";
const HERE = "127.0.0.1,localhost,::1";
const DEAD_PROXIES: Readonly<Record<string, string>> = {
  HTTP_PROXY: DEAD_PROXY,
  HTTPS_PROXY: DEAD_PROXY,
  ALL_PROXY: DEAD_PROXY,
  http_proxy: DEAD_PROXY,
  https_proxy: DEAD_PROXY,
  all_proxy: DEAD_PROXY,
  NO_PROXY: HERE,
  no_proxy: HERE,
};

const tell = (line: WorkerLine) => process.stdout.write(`${JSON.stringify(line)}\n`);

function hasOnlyLoopback(): boolean {
  try {
    const lines = readFileSync("/proc/net/dev", "utf8").split("\n").slice(2);
    return lines.every((line) => line.trim() === "" || line.trim().startsWith("lo:"));
  } catch {
    return false; // no /proc: nothing is known, so nothing is claimed
  }
}

async function work(job: Job, signal: AbortSignal): Promise<void> {
  const { provider, binary, set, only, jobs, network, scratch } = job;
  const { cases, digest, folder } = await loadMatrix();
  const columns = columnsOf(provider);
  const chosen = cases.filter(
    ({ id, column, core }) =>
      columns.includes(column) && (only.length > 0 ? only.includes(id) : set === "all" || core === true),
  );
  tell({ type: "started", total: chosen.length, matrix: digest });
  await runMatrix(chosen, {
    binary,
    scratch,
    folder,
    jobs,
    networkEnv: network === "netns" ? {} : DEAD_PROXIES,
    signal,
    onResult: (result, done, total) => tell({ type: "case", result, done, total }),
  });
  tell({ type: "done" });
}

tell({ type: "ready", onlyLoopback: hasOnlyLoopback() });
const ending = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(name, () => ending.abort(new Error(name)));
process.stdout.on("error", () => ending.abort(new Error("nobody reads any more")));
let working: Promise<void> | undefined;
for await (const line of createInterface({ input: process.stdin })) {
  working ??= work(jobSchema.parse(JSON.parse(line)), ending.signal)
    .catch((error: unknown) => {
      tell({ type: "error", message: error instanceof Error ? error.message : String(error) });
      process.exitCode = 1;
    })
    .finally(() => process.stdin.destroy());
}
ending.abort(new Error("the caller is gone"));
await working;
