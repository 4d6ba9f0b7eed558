// The runs that are written down, as `bridle ps` shows them. Only reads.

import type { Provider } from "../profile/events.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { endedDirectory, type FoundJournal, journalDirectory, readJournals } from "./file.ts";
import { readLastReceipt } from "./last-receipt.ts";
import { presenceOf } from "./process-identity.ts";

/**
 * - `running`: its supervisor lives; `orphaned`: its supervisor is gone, `recoverRuns` will settle it;
 * - `ended`; `elsewhere`: its supervisor cannot be seen from here; `unreadable`: the record cannot be trusted.
 */
export type RunState = "running" | "orphaned" | "ended" | "elsewhere" | "unreadable";

export interface ListedRun {
  readonly runId: string;
  readonly state: RunState;
  readonly provider?: Provider;
  readonly cwd?: string;
  /** Since agent_prompt had passed; of an ended run how long it took. Milliseconds. */
  readonly ageMs?: number;
  /** Number of declared hooks. */
  readonly hooks?: number;
  readonly agentPid?: number;
  readonly supervisorPid?: number;
  /** The last line of the receipts, when they are a file. */
  readonly lastEvent?: { readonly kind: string; readonly at: string };
  /** Ended runs only. */
  readonly outcome?: string;
  readonly reason?: string;
  /** What is wrong with the record. */
  readonly problem?: string;
}

export interface ListOptions {
  /** Ended runs too, as far as they are kept. @default false */
  readonly all?: boolean;
  /** Absolute. @default `$XDG_STATE_HOME/bridle`, else `~/.local/state/bridle` */
  readonly stateDir?: string;
}

/** Sorted by the time they began, unreadable ones last. */
export async function listRuns({
  all = false,
  stateDir = stateDirectory(),
}: ListOptions = {}): Promise<ListedRun[]> {
  const found = [
    ...(await readJournals(journalDirectory(stateDir))),
    ...(all ? await readJournals(endedDirectory(stateDir)) : []),
  ];
  const listed = await Promise.all(found.map(describeRun));
  return listed
    .filter((run) => all || run.state !== "ended")
    .sort((one, other) => (other.ageMs ?? -1) - (one.ageMs ?? -1));
}

/** One journal as a row. */
export async function describeRun({ runId, path, record }: FoundJournal): Promise<ListedRun> {
  if ("problem" in record) return { runId, state: "unreadable", problem: `${path} ${record.problem}` };
  const { admitted, started, ended } = record;
  const last = admitted.receiptPath === null ? undefined : await readLastReceipt(admitted.receiptPath);
  const until = ended === undefined ? Date.now() : Date.parse(ended.at);
  return {
    runId,
    state: ended === undefined ? stateOf(admitted.supervisor) : "ended",
    provider: admitted.provider,
    cwd: admitted.cwd,
    ageMs: Math.max(0, until - Date.parse(admitted.at)),
    hooks: admitted.hooks,
    supervisorPid: admitted.supervisor.pid,
    ...(started === undefined ? {} : { agentPid: started.pid }),
    ...(last === undefined ? {} : { lastEvent: { kind: last.kind, at: last.at } }),
    ...(ended === undefined ? {} : { outcome: ended.outcome, reason: ended.reason }),
  };
}

function stateOf(supervisor: Parameters<typeof presenceOf>[0]): RunState {
  const presence = presenceOf(supervisor);
  if (presence === "alive") return "running";
  return presence === "elsewhere" ? presence : "orphaned";
}
