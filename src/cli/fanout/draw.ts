// The live view of a fan-out as lines of text that fit a terminal. Pure.

import { toOneLine } from "../../index.ts";
import type { LiveRun, Progress } from "./progress.ts";

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** False: no colour. */
  readonly isColoured: boolean;
}

const BAR_WIDTH = 24;
const DIM = "\x1b[2m";
const RED = "\x1b[31m";
const YELLOW = "\x1b[33m";
const OFF = "\x1b[0m";

/** At most one line less than the terminal has; none is as wide as it. */
export function drawView(progress: Progress, { columns, rows, isColoured }: Screen, now: number): string[] {
  const width = Math.max(20, columns - 1);
  const room = Math.max(1, rows - 3);
  const runs = [...progress.live.values()].sort((one, other) => one.index - other.index);
  const shown = runs.slice(0, runs.length > room ? room - 1 : room);
  const paint = (colour: string, text: string) => (isColoured ? `${colour}${text}${OFF}` : text);
  const idWidth = Math.min(24, Math.max(4, ...shown.map(({ id }) => plain(id).length)));
  const lines = shown.map((run) => {
    const line = cut(drawRun(run, idWidth, now), width);
    return run.denied > 0 ? paint(YELLOW, line) : line;
  });
  if (shown.length < runs.length)
    lines.push(paint(DIM, cut(`… and ${runs.length - shown.length} more`, width)));
  const total = cut(drawTotal(progress, now), width);
  return [...lines, progress.failed > 0 ? paint(RED, total) : total];
}

function drawRun(
  { id, attempt, phase, tool, denied, costUsd, startedAt }: LiveRun,
  idWidth: number,
  now: number,
): string {
  const name = cut(plain(id), idWidth).padEnd(idWidth);
  const parts = [
    name,
    phase.padEnd(8),
    cut(plain(tool), 16).padEnd(16),
    `${denied} denied`.padEnd(10),
    (costUsd === undefined ? "" : `$${costUsd.toFixed(2)}`).padStart(7),
    formatAge(now - startedAt).padStart(7),
    attempt > 1 ? `try ${attempt}` : "",
  ];
  return parts.join("  ").trimEnd();
}

function drawTotal(progress: Progress, now: number): string {
  const { total, finished, failed, retrying, costUsd, denied, live } = progress;
  const filled = total === 0 ? 0 : Math.floor((finished / total) * BAR_WIDTH);
  const eta = etaMs(progress, now);
  const parts = [
    `[${"#".repeat(filled)}${".".repeat(BAR_WIDTH - filled)}] ${finished}/${total}`,
    `${live.size} live`,
    ...(failed > 0 ? [`${failed} not successful`] : []),
    ...(retrying > 0 ? [`${retrying} to be tried again`] : []),
    ...(denied > 0 ? [`${denied} denied`] : []),
    ...(costUsd > 0 ? [`$${costUsd.toFixed(2)}`] : []),
    ...(eta === undefined ? [] : [`ETA ${formatAge(eta)}`]),
  ];
  return parts.join("  ");
}

/** From what this process has done so far. Undefined until it has done something. */
export function etaMs({ total, finished, done, beganAt }: Progress, now: number): number | undefined {
  if (done === 0 || beganAt === undefined || finished >= total) return undefined;
  return ((now - beganAt) / done) * (total - finished);
}

export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(seconds % 60).padStart(2, "0")}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m`;
}

/** What a task or an agent says may hold anything. */
function plain(text: string): string {
  return toOneLine(text);
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}
