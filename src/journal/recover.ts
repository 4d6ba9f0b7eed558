// Ends what dead supervisors left and delivers the agent_exit they owe: once a run, whoever and however many recover at a time. A record
// that cannot be trusted is told and never acted upon.

import lockfile from "proper-lockfile";
import type { HookPlan } from "../compiler/plan.ts";
import { planOf, type RenderedHooks } from "../compiler/token.ts";
import type { Provider } from "../profile/events.ts";
import { stateDirectory } from "../receipts/writer.ts";
import type { Extinction } from "../spawn/result.ts";
import { clearRemains } from "./clear-remains.ts";
import { type AgentFound, endLostTree } from "./end-lost-tree.ts";
import { resolveExitChain } from "./exit-chain.ts";
import {
  appendLine,
  archiveJournal,
  journalDirectory,
  LOCK_STALE_MS,
  readJournal,
  readJournals,
} from "./file.ts";
import { noteRecovery } from "./note-recovery.ts";
import { presenceOf } from "./process-identity.ts";
import type { ExitDelivery, RunRecord } from "./record.ts";
import { type CleanedDirectory, cleanDirectories } from "./remove-directory.ts";
import { type RecoveredHook, runExitChain } from "./run-exit-chain.ts";

export interface RecoverOptions {
  /** Only these runs are looked at. @default all */
  readonly runIds?: readonly string[];
  /** Tokens that may hold the runs' agent_exit functions and the values of their variables. */
  readonly hooks?: RenderedHooks | readonly RenderedHooks[];
  /** Absolute. @default `$XDG_STATE_HOME/bridle`, else `~/.local/state/bridle` */
  readonly stateDir?: string;
  /** Where values of hooks' variables, and the hooks' basic variables, are taken from. @default process.env */
  readonly env?: NodeJS.ProcessEnv;
  /** Takes supervisors that cannot be seen from here, on another machine or in another pid namespace, for dead. @default false */
  readonly assumeDead?: boolean;
  /** Closes runs whose agent_exit cannot be delivered from here: it never will be. @default false */
  readonly closeUndeliverable?: boolean;
}

/**
 * - `recovered`: the record was closed;
 * - `open`: ended and cleaned, but its agent_exit cannot be delivered from here;
 * - `running`: its supervisor lives; `claimed`: somebody else recovers it;
 * - `elsewhere`: its supervisor ran on another machine or in another pid namespace, and cannot be seen from here;
 * - `unreadable`: the record cannot be trusted.
 */
export type RecoveryState = "recovered" | "open" | "running" | "claimed" | "elsewhere" | "unreadable";

export interface Recovery {
  /** As the file is named; empty when the whole journal cannot be read. */
  readonly runId: string;
  readonly state: RecoveryState;
  readonly provider?: Provider;
  readonly cwd?: string;
  /** What the agent's recorded process was. `rebooted`: nothing of the run can live. */
  readonly agent?: AgentFound | "rebooted";
  readonly extinction?: Extinction;
  readonly exitDelivery?: ExitDelivery;
  /** The hooks of agent_exit that were looked at, in order. */
  readonly hooks?: readonly RecoveredHook[];
  readonly directories?: readonly CleanedDirectory[];
  /** What a person should know. */
  readonly problems: readonly string[];
}

/**
 * Looks at every open journal. Where the supervisor is gone: ends what is left of the run, removes its directories, runs its agent_exit
 * chain with `recovered: true` and outcome `lost`, and closes the record. A chain that had been started is never run again.
 *
 * @returns one report a record, sorted by run id.
 * @throws AgentHooksRefused `token_forged` for a token that is none. Nothing else: what goes wrong is in the reports.
 * @example
 * for (const { runId, state, problems } of await recoverRuns({ hooks })) console.log(runId, state, ...problems);
 */
export async function recoverRuns({
  runIds,
  hooks = [],
  env = process.env,
  stateDir = stateDirectory(env),
  assumeDead = false,
  closeUndeliverable = false,
}: RecoverOptions = {}): Promise<Recovery[]> {
  const plans = (Array.isArray(hooks) ? hooks : [hooks]).map(planOf);
  const reports: Recovery[] = [];
  for (const { runId, path, record } of await readJournals(journalDirectory(stateDir))) {
    // A folder that cannot be read concerns every run.
    if (runIds !== undefined && runId !== "" && !runIds.includes(runId)) continue;
    if ("problem" in record) {
      reports.push({ runId, state: "unreadable", problems: [`${path} ${record.problem}`] });
      continue;
    }
    const recovery = await recoverRun(record, { plans, env, stateDir, assumeDead, closeUndeliverable }).catch(
      (error: unknown): Recovery => ({ runId, state: "open", problems: [String(error)] }),
    );
    if (recovery !== undefined) reports.push(recovery);
  }
  await clearRemains(stateDir, env, reports);
  return reports;
}

interface Context {
  readonly plans: readonly HookPlan[];
  readonly env: NodeJS.ProcessEnv;
  readonly stateDir: string;
  readonly assumeDead: boolean;
  readonly closeUndeliverable: boolean;
}

/** Undefined when the run had ended. */
async function recoverRun(record: RunRecord, context: Context): Promise<Recovery | undefined> {
  const { admitted, ended } = record;
  const { runId, provider, cwd } = admitted;
  const base = { runId, provider, cwd };
  if (ended !== undefined) {
    await archiveJournal(context.stateDir, runId);
    return undefined;
  }
  const presence = presenceOf(admitted.supervisor);
  if (presence === "alive") return { ...base, state: "running", problems: [] };
  if (presence === "elsewhere" && !context.assumeDead) {
    const problem =
      "its supervisor ran on another machine or in another pid namespace: nothing is known of it";
    return { ...base, state: "elsewhere", problems: [problem] };
  }
  const claim = await claimRun(context.stateDir, runId);
  if (claim === undefined) return { ...base, state: "claimed", problems: [] };
  try {
    // Somebody may have recovered it between the first look and the lock.
    const again = await readJournal(claim.path);
    if (again === undefined || "problem" in again.record || again.record.ended !== undefined)
      return { ...base, state: "claimed", problems: [] };
    return { ...base, ...(await settleLostRun(again.record, presence, claim, context)) };
  } finally {
    await claim.release();
  }
}

interface Claim {
  readonly path: string;
  readonly isLost: boolean;
  release(): Promise<void>;
}

/** Undefined when somebody else holds it. */
async function claimRun(stateDir: string, runId: string): Promise<Claim | undefined> {
  const path = `${journalDirectory(stateDir)}/${runId}.jsonl`;
  let isLost = false;
  try {
    const release = await lockfile.lock(path, {
      realpath: false,
      stale: LOCK_STALE_MS,
      retries: 0,
      onCompromised: () => {
        isLost = true;
      },
    });
    return {
      path,
      get isLost() {
        return isLost;
      },
      release: () => release().catch(() => {}), // a lock that was lost is not ours to release
    };
  } catch (error) {
    if (["ELOCKED", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

async function settleLostRun(
  record: RunRecord,
  presence: "gone" | "rebooted" | "elsewhere",
  claim: Claim,
  { plans, env, stateDir, closeUndeliverable }: Context,
): Promise<Pick<Recovery, Exclude<keyof Recovery, "runId">>> {
  const { admitted, started } = record;
  const { runId, marker, exitChain } = admitted;
  const { agent, extinction } =
    presence === "gone"
      ? await endLostTree({ agent: started, marker })
      : {
          agent: "rebooted" as const,
          extinction: {
            // What runs elsewhere cannot be seen from here.
            state: presence === "rebooted" ? "swept" : "unproven",
            method: presence,
            survivors: [],
          } satisfies Extinction,
        };
  const directories = await cleanDirectories(record);
  const problems = [
    ...(agent === "identity_mismatch"
      ? [`pid ${started?.pid} is another process by now: not signalled`]
      : []),
    ...(extinction.survivors.length > 0 ? [`still there: pids ${extinction.survivors.join(", ")}`] : []),
    ...directories.flatMap(({ path, reason }) => (reason === undefined ? [] : [`${path} ${reason}`])),
  ];
  const seen = { agent, extinction, directories };
  const close = async (exitDelivery: ExitDelivery, hooks: readonly RecoveredHook[] = []) => {
    const ending = { outcome: "lost", reason: "supervisor_gone" } as const;
    const at = new Date().toISOString();
    const line = { type: "ended", at, by: "recovery", ...ending, exitDelivery } as const;
    await appendLine(stateDir, runId, line, { durable: true });
    await noteRecovery(record, { ...ending, extinction, exitDelivery, hooks });
    await archiveJournal(stateDir, runId);
    return { ...seen, state: "recovered" as const, exitDelivery, hooks, problems };
  };

  if (record.isExitStarted) {
    problems.push("agent_exit had been started; whether its hooks ran to their end is not known");
    return close("unknown");
  }
  if (exitChain.length === 0) return close("none");
  const chain = resolveExitChain(exitChain, plans, env);
  if (chain.problems.length > 0) {
    problems.push(...chain.problems.map((problem) => `agent_exit was not delivered: ${problem}`));
    if (closeUndeliverable) return close("undeliverable");
    return { ...seen, state: "open", exitDelivery: "undeliverable", problems };
  }
  if (claim.isLost) return { ...seen, state: "claimed", problems };
  const opening = { type: "exit_started", at: new Date().toISOString(), by: "recovery" } as const;
  await appendLine(stateDir, runId, opening, { durable: true });
  const hooks = await runExitChain({ record, entries: chain.entries, extinction, env });
  for (const { id, changed } of hooks) {
    if (changed !== undefined) problems.push(`${id} was not run: ${changed}`);
  }
  return close("delivered", hooks);
}
