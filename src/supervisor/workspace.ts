// Who works in which directory: one small file a run in the state directory, so that a run can have its working directory for itself. An
// entry counts while its supervisor or a process of its run lives, whatever its age.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
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

/** Entries of shared runs of this process: what they say is known, so that a start does not read those of hundreds of others. */
const ownShared = new Set<string>();

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
    ownShared.delete(path);
    const step = hasSurvivors ? writeEntry(path, { ...entry, supervisor: null }) : rm(path, { force: true });
    await step.catch(() => {}); // the entry dies with this process
  };
  // Written before the others are looked at, always: of two that must not meet at least one sees the other, with and without a lock.
  try {
    if (use === "shared") {
      await writeEntry(path, entry);
      ownShared.add(path);
      // Nearly always. A rival may itself be about to give way: that is told by those who take turns.
      if ((await readRivals(folder, name, entry)).length === 0) return { problem: undefined, release };
    }
    const leave = await takeTurn({ path: join(folder, name), waitMs: TURN_MS, signal });
    try {
      if (use === "exclusive") await writeEntry(path, entry);
      for (const other of await readRivals(folder, name, entry)) {
        const holder = await describeHolder(stateDir, other.entry);
        if (holder === undefined) await rm(other.path, { force: true });
        else throw new AgentHooksRefused([describeBusy(other, holder)]);
      }
    } catch (error) {
      // Within the turn: who comes next must not take for a rival what has given way.
      await release();
      throw error;
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
  const write = () => writeFile(written, JSON.stringify(entry), { mode: 0o600 });
  try {
    await write().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await write();
    });
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

/** The others that an entry may not be beside. */
async function readRivals(folder: string, name: string, { runId, use }: Entry): Promise<Other[]> {
  const others: Other[] = [];
  for (const file of await readdir(folder)) {
    if (!file.startsWith(`${name}.`) || !file.endsWith(".json") || file === `${name}.${runId}.json`) continue;
    const path = join(folder, file);
    if (use === "shared" && ownShared.has(path)) continue;
    const text = await readFile(path, "utf8").catch(() => undefined); // released meanwhile
    if (text === undefined) continue;
    const entry = entrySchema.parse(JSON.parse(text));
    if (use === "exclusive" || entry.use === "exclusive") others.push({ path, entry });
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
