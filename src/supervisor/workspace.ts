// Who works in which directory: one small file a run in the state directory, so that a run can have its working directory for itself. An
// entry counts while its supervisor or a process of its run lives, whatever its age.

import { createHash } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { OWNER_PATTERN, ownerName, removeAbandoned } from "../exec/owner-name.ts";
import { findByMarker, startTimeOf } from "../exec/sweep.ts";
import { endedDirectory, journalPath, readJournal } from "../journal/file.ts";
import { ownIdentity, presenceOf } from "../journal/process-identity.ts";
import { processIdentity } from "../journal/record.ts";
import { RUN_MARKER } from "../spawn/environment.ts";
import { removeStaleLocks, takeTurn } from "./take-turn.ts";

/** `exclusive`: no other run may be in the same working directory. `shared`: any but an exclusive one may. */
export type WorkspaceUse = "exclusive" | "shared";

const entrySchema = z.object({
  runId: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/),
  use: z.enum(["exclusive", "shared"]),
  cwd: z.string(),
  /** Null when the run has ended and left processes behind. */
  supervisor: processIdentity.nullable(),
});
type Entry = z.infer<typeof entrySchema>;

export interface WorkspaceClaim {
  /** Why a shared run is not written down: an exclusive one will not see it. */
  readonly problem: string | undefined;
  /**
   * To be called when the tree is gone. Never rejects, and does nothing the second time.
   *
   * @param hasSurvivors keeps the entry for as long as one of them lives.
   */
  release(options?: { hasSurvivors: boolean }): Promise<void>;
}

/** Longest wait for others that look into the same entries. */
const TURN_MS = 10_000;

/**
 * Enters a run for its working directory.
 *
 * @param cwd real path. Another one is another workspace, also one below or above it.
 * @throws AgentHooksRefused `workspace_busy`; the signal's reason.
 */
export async function claimWorkspace({
  stateDir,
  runId,
  cwd,
  use,
  signal,
}: {
  stateDir: string;
  runId: string;
  cwd: string;
  use: WorkspaceUse;
  signal: AbortSignal;
}): Promise<WorkspaceClaim> {
  const name = createHash("sha256").update(cwd).digest("hex").slice(0, 32);
  const folder = workspaceDirectory(stateDir);
  const path = join(folder, `${name}.${runId}.json`);
  const entry: Entry = { runId, use, cwd, supervisor: ownIdentity() };
  let isReleased = false;
  const release = async ({ hasSurvivors } = { hasSurvivors: false }) => {
    if (isReleased) return;
    isReleased = true;
    const step = hasSurvivors ? writeEntry(path, { ...entry, supervisor: null }) : rm(path, { force: true });
    await step.catch(() => {}); // the entry dies with this process
  };
  try {
    const leave = await takeTurn({ path: join(folder, name), waitMs: TURN_MS, signal });
    try {
      // Written before the others are looked at: should the lock fail, two runs rather refuse each other than both go on.
      await writeEntry(path, entry);
      for (const other of await readOthers(folder, name, runId)) {
        if (use === "shared" && other.entry.use === "shared") continue;
        const holder = await describeHolder(stateDir, other.entry);
        if (holder === undefined) await rm(other.path, { force: true });
        else throw new AgentHooksRefused([describeBusy(other, holder)]);
      }
    } finally {
      await leave();
    }
    return { problem: undefined, release };
  } catch (error) {
    await release();
    if (signal.aborted) throw signal.reason;
    if (error instanceof AgentHooksRefused) throw error;
    const problem = `${folder}: ${String(error)}`;
    if (use === "shared") return { problem, release };
    const message = `who works in ${cwd} cannot be told: ${problem}`;
    const issue: Issue = { code: "workspace_busy", path: "workspace", message, hint: "" };
    throw new AgentHooksRefused([issue], { cause: error });
  }
}

async function writeEntry(path: string, entry: Entry): Promise<void> {
  const written = `${path}.${ownerName()}.new`;
  try {
    await writeFile(written, JSON.stringify(entry), { mode: 0o600 });
    await rename(written, path);
  } catch (error) {
    await rm(written, { force: true });
    throw error;
  }
}

const UNFINISHED = new RegExp(`^[0-9a-f]{32}\\.[A-Za-z0-9_-]+\\.json\\.(${OWNER_PATTERN})\\.new$`);

/**
 * Removes the entries of runs that nobody supervises and of which nothing is left. Never rejects: what stays does not count either, and is
 * tried again the next time.
 *
 * @param settled runs of which somebody knows that they are gone, wherever they ran.
 */
export async function removeDeadEntries(stateDir: string, settled: ReadonlySet<string>): Promise<void> {
  const folder = workspaceDirectory(stateDir);
  const names = await readdir(folder).catch(() => []); // no folder, no entries
  for (const file of names) {
    if (!file.endsWith(".json")) continue;
    const path = join(folder, file);
    try {
      const entry = entrySchema.parse(JSON.parse(await readFile(path, "utf8")));
      if (!file.endsWith(`.${entry.runId}.json`)) continue;
      if (settled.has(entry.runId) || (await describeHolder(stateDir, entry)) === undefined)
        await rm(path, { force: true });
    } catch {
      // Released meanwhile, or no entry: claimWorkspace says so.
    }
  }
  await removeAbandoned(folder, UNFINISHED);
  await removeStaleLocks(folder);
}

function workspaceDirectory(stateDir: string): string {
  return join(stateDir, "workspaces");
}

interface Other {
  readonly path: string;
  readonly entry: Entry;
}

async function readOthers(folder: string, name: string, runId: string): Promise<Other[]> {
  const others: Other[] = [];
  for (const file of await readdir(folder)) {
    if (!file.startsWith(`${name}.`) || !file.endsWith(".json") || file === `${name}.${runId}.json`) continue;
    const path = join(folder, file);
    const text = await readFile(path, "utf8").catch(() => undefined); // released meanwhile
    if (text === undefined) continue;
    others.push({ path, entry: entrySchema.parse(JSON.parse(text)) });
  }
  return others;
}

/** Who still holds an entry and what to do about it; undefined when nobody does. */
async function describeHolder(
  stateDir: string,
  { runId, supervisor }: Entry,
): Promise<{ who: string; hint: string } | undefined> {
  const presence = supervisor === null ? "gone" : presenceOf(supervisor);
  const who = `run ${runId}, supervised by pid ${supervisor?.pid}`;
  if (presence === "alive") return { who, hint: "bridle ps shows it, bridle stop ends it" };
  if (presence === "elsewhere") {
    // Nothing is known of its processes, unless somebody has settled the run.
    if ((await readJournal(join(endedDirectory(stateDir), `${runId}.jsonl`))) !== undefined) return undefined;
    return {
      who: `${who} on another machine or in another pid namespace`,
      hint: "bridle ps shows it; bridle recover --assume-dead settles it when its supervisor is dead",
    };
  }
  if (presence === "rebooted") return undefined;
  const pids = await listLeft(stateDir, runId);
  if (pids.length === 0) return undefined;
  return {
    who: `run ${runId}, of which pid ${pids.join(", ")} is left`,
    hint: "bridle ps shows it, bridle recover ends it",
  };
}

/** Living processes of a run that nobody supervises: what carries its marker, and the agent that its journal names. */
async function listLeft(stateDir: string, runId: string): Promise<number[]> {
  const pids = findByMarker(RUN_MARKER, runId).processes.map(({ pid }) => pid);
  const record = (await readJournal(journalPath(stateDir, runId)))?.record;
  const agent = record === undefined || "problem" in record ? undefined : record.started;
  const isAgentLeft =
    agent !== undefined && agent.startTime !== null && startTimeOf(agent.pid) === agent.startTime;
  return [...new Set(isAgentLeft ? [agent.pid, ...pids] : pids)];
}

function describeBusy({ entry: { cwd, use } }: Other, { who, hint }: { who: string; hint: string }): Issue {
  return {
    code: "workspace_busy",
    path: "workspace",
    message: `${cwd} is in use, ${use}, by ${who}`,
    hint,
  };
}
