// Who was last in a workspace and did not say that it left: proves that nothing of it is there any more, or says why that cannot be proven.
// Must never take silence for death.

import { z } from "zod";
import type { RenderedHooks } from "../compiler/token.ts";
import { presenceOf } from "../journal/process-identity.ts";
import { processIdentity } from "../journal/record.ts";
import { type Recovery, recoverRuns } from "../journal/recover.ts";

const holderSchema = z.object({
  attempt: z.string(),
  jobId: z.string(),
  workspace: z.string(),
  stateDir: z.string(),
  worker: processIdentity,
  fence: z.number(),
  at: z.string(),
});

/** Written into Redis before the agent is started, taken away when nothing of the run is left. */
export type WorkspaceHolder = z.infer<typeof holderSchema>;

/**
 * - `gone`: nothing of it is left. `lost`: the holder's job died with its worker;
 * - `fence`: it ran where it cannot be seen from here; only the fence stops it;
 * - `wait`: it lives, or that cannot be told; try again later.
 */
export type TakeOver =
  | { readonly state: "gone" | "fence"; readonly lostJobId: string }
  | { readonly state: "wait"; readonly reason: string };

export async function proveGone(
  record: string,
  {
    workspace,
    stateDir,
    hooks,
    env,
    liveAttempts,
  }: {
    workspace: string;
    stateDir: string;
    /** Tokens whose agent_exit hooks may be owed. */
    hooks: readonly RenderedHooks[];
    env: NodeJS.ProcessEnv;
    /** Of this process. */
    liveAttempts: ReadonlySet<string>;
  },
): Promise<TakeOver> {
  const parsed = parseHolder(record);
  if (parsed === undefined) return { state: "wait", reason: "who was last in the workspace cannot be read" };
  const { attempt, jobId, worker, stateDir: itsStateDir } = parsed;
  const who = `job ${jobId}, on ${worker.machine.split(" ")[0]} as pid ${worker.pid}`;
  const presence = presenceOf(worker);
  if (presence === "elsewhere") return { state: "fence", lostJobId: jobId };
  if (presence === "alive") {
    // Of this process it is known which attempts are live: one that is over could not say so in time.
    const isOver = worker.pid === process.pid && !liveAttempts.has(attempt);
    if (!isOver) return { state: "wait", reason: `${who}, lives and has not left the workspace` };
  }
  // Of another state directory nothing is known here, and one that Redis names must not be believed: its records say what is run.
  if (itsStateDir !== stateDir)
    return { state: "wait", reason: `${who}, used another state directory: ${itsStateDir}` };
  const reports = await recoverRuns({ stateDir, hooks, env });
  const left = reports.filter((report) => report.cwd === workspace && isLeft(report));
  if (left.length === 0) return { state: "gone", lostJobId: jobId };
  const words = left.map(({ runId, state, problems }) =>
    [`run ${runId} is ${state}`, ...problems].join(", "),
  );
  return { state: "wait", reason: `of ${who}: ${words.join("; ")}` };
}

function isLeft({ state, extinction, agent }: Recovery): boolean {
  if (agent === "rebooted") return false;
  if (state === "recovered" || state === "open") return (extinction?.survivors.length ?? 0) > 0;
  return true;
}

function parseHolder(record: string): WorkspaceHolder | undefined {
  try {
    return holderSchema.parse(JSON.parse(record));
  } catch {
    return undefined;
  }
}
