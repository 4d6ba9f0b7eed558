// Everything that outlives a dead supervisor, for one run: its journal, its place with the watchdog, the request to stop. What fails here
// is a warning of the run: it goes on, and says that it would not be recovered.

import { lstatSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Identity } from "../broker/run-directory-identity.ts";
import { defaultParent, realPathOfPlanned } from "../broker/run-directory-place.ts";
import { startTimeOf } from "../exec/sweep.ts";
import { stateDirectory } from "../receipts/writer.ts";
import type { ProviderChild } from "../spawn/child.ts";
import type { Extinction } from "../spawn/result.ts";
import type { RunScope } from "../spawn/run-scope.ts";
import type { RunLayout } from "../spawn/set-up.ts";
import type { Settlement } from "../spawn/settle.ts";
import { planTmpDir } from "../spawn/tmp-dir.ts";
import { ensureWatchdog, type WatchedRun } from "../watchdog/watchdog.ts";
import { describeExitChain } from "./exit-chain.ts";
import { appendLine, archiveJournal, type BegunJournal, beginJournal, type OpenJournal } from "./file.ts";
import { ownIdentity } from "./process-identity.ts";
import type { DirectoryRecord, JournalLine } from "./record.ts";
import { reach } from "./steps.ts";
import { watchStopRequest, withdrawStop } from "./stop-requests.ts";

export interface Ledger {
  /** Writes what `admit` says, ahead of it: nothing is said by that. */
  begin(): void;
  /** agent_prompt was not passed: takes back what `begin` wrote. Never rejects. */
  discard(): Promise<void>;
  /**
   * agent_prompt has passed: from here agent_exit is owed. Resolves when that is written down.
   *
   * @param isHeld the agent is held from now on: `start` comes soon, and brings everything to the disk at once.
   */
  admit(isHeld: boolean): Promise<void>;
  /** The run directory is there and no process yet. Resolves when the record is on the disk. */
  prepare(layout: RunLayout): Promise<void>;
  /** The agent's process is there, or what is to become it. To be awaited before its first output is read. */
  start(child: Pick<ProviderChild, "pid" | "groupId">): Promise<void>;
  /** The prompt was handed over: from here another process may ask for a stop. */
  listen(): Promise<void>;
  /** To be awaited before the agent_exit chain runs. */
  startExit(): Promise<void>;
  /** The chain has run. */
  end(settlement: Settlement, extinction: Extinction): Promise<void>;
}

export function createLedger(scope: RunScope): Ledger {
  const { runId, sessionId, plan, options, runOptions, redactor } = scope;
  const marker = runId;
  const stateDir = stateDirectory(options.baseEnv);
  const attempt = createAttempt(scope);
  let isKept = false;
  /** While the run is being started. */
  let opened: OpenJournal | undefined;
  let naming: Promise<void> | undefined;
  let isExiting = false;
  let watched: Partial<WatchedRun> = {};
  let closeRequest = () => {};

  const append = (line: JournalLine, durable: boolean) =>
    attempt("journal_unavailable", "the run would not be recovered", async () => {
      const journal = opened;
      if (journal !== undefined) {
        await journal.append(line);
        if (durable) await journal.sync();
      } else if (isKept) await appendLine(stateDir, runId, line, { durable });
    });
  /** Of a start, in whichever order they come. */
  const awaitedLines = new Set(["prepared", "started"]);
  const noteLine = async (type: string) => {
    awaitedLines.delete(type);
    if (awaitedLines.size === 0) await closeJournal();
  };
  const closeJournal = async () => {
    const journal = opened;
    opened = undefined;
    await journal?.close().catch(() => {}); // what was written is on the disk already
  };
  const watch = () =>
    attempt("watchdog_unavailable", "the agent would outlive a killed supervisor", async () => {
      await (await ensureWatchdog()).add({ runId, marker, ...watched });
    });

  const beginRecord = async () => {
    const env = options.baseEnv ?? process.env;
    const parent = realPathOfPlanned(options.runDirParent ?? defaultParent(env));
    return beginJournal(stateDir, runId, {
      type: "admitted",
      version: 1,
      at: now(),
      runId,
      sessionId,
      provider: plan.provider,
      cwd: runOptions.cwd,
      marker,
      supervisor: ownIdentity(),
      digest: plan.digest,
      hooks: plan.entries.length,
      receiptPath:
        options.receiptSink === undefined
          ? resolve(options.receiptsDir ?? join(stateDir, "receipts"), `${runId}.jsonl`)
          : null,
      plannedDirectory: join(parent, runId),
      plannedTmpDir: planTmpDir(options, runId),
      projectRoot: plan.projectRoot,
      hookPath: scope.hookPath,
      exitChain: describeExitChain(plan, redactor),
    });
  };
  let begun: Promise<BegunJournal> | undefined;
  const beginOnce = () => {
    begun ??= beginRecord();
    return begun;
  };

  return {
    begin() {
      beginOnce().catch(() => {}); // not unhandled: `admit` says it
    },

    async discard() {
      await begun?.then(
        (it) => it.discard(),
        () => {}, // nothing is left
      );
    },

    async admit(isHeld) {
      await attempt("journal_unavailable", "the run would not be recovered", async () => {
        opened = await (await beginOnce()).name();
        isKept = true;
        if (isHeld) return;
        naming = opened.sync();
        naming.catch(() => {}); // told by `prepare`
      });
      reach("admitted", runId);
    },

    async prepare({ runDirectory: { path, identities }, context }) {
      reach("run_directory_made", runId);
      const { dev, ino } = identities.get("") as Identity;
      const made = { path, dev, ino };
      watched = { ...watched, runDirectory: made };
      await Promise.all([
        attempt("journal_unavailable", "the run would not be recovered", async () => {
          const tmpDir = identifyDirectory(context.tmpDir);
          await append({ type: "prepared", at: now(), runDirectory: made, tmpDir }, false);
          await naming;
        }),
        // Before the agent runs: what carries the marker is ended even if its pid was never told.
        watch(),
      ]);
      await noteLine("prepared");
      reach("prepared", runId);
    },

    async start({ pid, groupId }) {
      reach("child_started", runId);
      const startTime = startTimeOf(pid);
      if (startTime !== undefined) {
        watched = { ...watched, pid, startTime, groupId };
        // What is held ends with this process; it is told with the directory, before it becomes the agent.
        if (watched.runDirectory !== undefined) await watch();
      }
      reach("watched", runId);
      await append({ type: "started", at: now(), pid, startTime: startTime ?? null, groupId }, true);
      await noteLine("started");
      reach("started", runId);
    },

    async listen() {
      // A folder that others may write to is no place to take requests from.
      if (!isKept) return;
      const close = await watchStopRequest(stateDir, runId, () =>
        scope.ender.end({ kind: "stopped", reason: "bridle stop" }),
      );
      if (isExiting) close();
      else closeRequest = close;
    },

    async startExit() {
      isExiting = true;
      closeRequest();
      await closeJournal();
      await append({ type: "exit_started", at: now(), by: "supervisor" }, true);
      reach("exit_started", runId);
    },

    async end({ outcome, reason }, extinction) {
      reach("exit_ran", runId);
      const hasChain = plan.entries.some(({ event }) => event === "agent_exit");
      const exitDelivery = hasChain ? "delivered" : "none";
      await append({ type: "ended", at: now(), by: "supervisor", outcome, reason, exitDelivery }, true);
      reach("ended", runId);
      await attempt("journal_unavailable", "an ended journal was left", async () => {
        if (!isKept) return;
        await archiveJournal(stateDir, runId);
        // One that came after the first, or too late to be seen.
        await withdrawStop(stateDir, runId);
      });
      // What could not be ended stays with the watchdog, which tries again when this process is gone.
      if (extinction.survivors.length === 0)
        await ensureWatchdog().then(
          (watchdog) => watchdog.remove(runId),
          () => {}, // said when the run was added
        );
      reach("unwatched", runId);
    },
  };
}

/** Runs a step whose failure is told once and kept from the run. */
function createAttempt({ warnings, receipts, redactor }: RunScope) {
  return async (code: string, meaning: string, step: () => Promise<unknown>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      if (warnings.some((warning) => warning.code === code)) return;
      const message = `${meaning}: ${redactor.text(String(error))}`;
      warnings.push({ code, message });
      receipts.write({ kind: "warning", code, message });
    }
  };
}

function identifyDirectory(path: string): DirectoryRecord {
  const { dev, ino } = lstatSync(path);
  return { path, dev, ino };
}

function now(): string {
  return new Date().toISOString();
}
