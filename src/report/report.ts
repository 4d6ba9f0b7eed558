// One HTML file of a run or of a fan-out, from what was written down of it. Reads only.

import { lstat, readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { AgentHooksRefused, formatIssue } from "../errors.ts";
import type { FanOutRecord } from "../fanout/record.ts";
import { invalidOption, readOptions, refuseOption } from "../receipts/check-arguments.ts";
import { readReceipts } from "../receipts/read-receipts.ts";
import { verifyReceipts } from "../receipts/verify-receipts.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { renderFanOutPage } from "./fan-out-page.ts";
import { findFanOut } from "./find-fan-out.ts";
import { html } from "./markup.ts";
import { renderPage } from "./page.ts";
import { type RunReport, readRunReport } from "./run-record.ts";
import { describeStart, renderRunSections } from "./run-sections.ts";
import { formatTime } from "./words.ts";

export interface Report {
  readonly of: "run" | "fan_out";
  /** Of the run or the fan-out. */
  readonly id: string;
  /** A whole page that needs nothing beside it. */
  readonly html: string;
}

export interface ReportOptions {
  /** Absolute. @default `$XDG_STATE_HOME/bridle`, else `~/.local/state/bridle` */
  readonly stateDir?: string;
}

/**
 * Makes a page of a run (by id, the beginning of one, or the file of its receipts) or of a fan-out (by id or its directory).
 *
 * @throws AgentHooksRefused `option_invalid`: nothing, or more than one, is named so; `receipts_unreadable`: a file that cannot be read.
 * @example
 * const { html } = await createReport(runId);
 * await writeFile("report.html", html);
 */
export async function createReport(what: string, options: ReportOptions = {}): Promise<Report> {
  if (typeof what !== "string" || what === "")
    throw invalidOption("what", what, "the id of a run or of a fan-out, or a file of receipts");
  const { stateDir = stateDirectory() } = readOptions(options, { what: "options", known: ["stateDir"] });
  if (typeof stateDir !== "string") throw invalidOption("stateDir", stateDir, "an absolute path");
  const receipts = join(stateDir, "receipts");
  const there = await lstat(what).catch(() => undefined); // no path, then
  if (there !== undefined && !there.isDirectory()) return reportFile(resolve(what));
  const runs = there?.isDirectory() === true ? [] : await findRuns(receipts, what);
  const [only] = runs;
  if (only !== undefined && runs.length === 1) return reportFile(join(receipts, only));
  if (runs.length > 1) {
    const names = runs.slice(0, 20).map((name) => basename(name, ".jsonl"));
    throw refuseOption(
      "what",
      `${JSON.stringify(what)} names ${runs.length}: ${names.join(", ")}`,
      "give more of the id",
    );
  }
  return reportFanOut(
    await findFanOut(what, { stateDir, isDirectory: there?.isDirectory() === true }),
    receipts,
  );
}

async function findRuns(receipts: string, start: string): Promise<string[]> {
  const names = await readdir(receipts).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const found = names.filter((name) => name.startsWith(start) && name.endsWith(".jsonl")).sort();
  return found.includes(`${start}.jsonl`) ? [`${start}.jsonl`] : found;
}

async function reportFile(path: string): Promise<Report> {
  const runId = await findRunId(path);
  const run = await readRun(path, runId);
  const { contents, sections } = renderRunSections(run);
  const started = run.startedAt === undefined ? "" : `, started ${formatTime(run.startedAt)}`;
  const page = renderPage({
    title: `Run ${runId}`,
    lead: html`${describeStart(run)}${started}`,
    contents,
    body: sections,
  });
  return { of: "run", id: runId, html: page };
}

async function readRun(path: string, runId: string): Promise<RunReport> {
  return readRunReport(path, runId, await verifyReceipts(path));
}

/** A file may hold several runs, when it is a sink's: then it is not one page. */
async function findRunId(path: string): Promise<string> {
  const found = new Set<string>();
  for await (const { of, line } of readReceipts(path)) {
    if (of !== "run") continue;
    found.add(line.run_id);
    if (found.size > 1)
      throw refuseOption(
        "what",
        `${path} holds receipts of several runs`,
        "a page is of one run: give each a file",
      );
  }
  const [runId] = found;
  if (runId === undefined)
    throw refuseOption(
      "what",
      `${path} holds no receipts of a run`,
      "receipts of a host: bridle receipts show",
    );
  return runId;
}

async function reportFanOut(fanOut: FanOutRecord, receipts: string): Promise<Report> {
  const runs = new Map<string, RunReport>();
  const unreadable = new Map<string, string>();
  const nowMs = Date.now();
  for (const { runId } of fanOut.tasks.flatMap(({ attempts }) => attempts)) {
    if (runId === undefined) continue;
    try {
      runs.set(runId, await readRun(join(receipts, `${runId}.jsonl`), runId));
    } catch (error) {
      if (!(error instanceof AgentHooksRefused)) throw error;
      unreadable.set(runId, error.issues.map(formatIssue).join("; "));
    }
  }
  return { of: "fan_out", id: fanOut.id, html: renderFanOutPage({ fanOut, runs, unreadable, nowMs }) };
}
