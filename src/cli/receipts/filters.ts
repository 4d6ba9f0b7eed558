// The filters that list, show and export share: as options, and as the question whether an entry is meant.

import { type Command, InvalidArgumentError } from "commander";
import { EVENTS } from "../../index.ts";
import type { Entry } from "./entry.ts";

export interface Filters {
  readonly event?: string;
  readonly hook?: string;
  readonly decision?: string;
  readonly status?: string;
  readonly tool?: string;
  /** ISO 8601, UTC. */
  readonly since?: string;
  readonly until?: string;
  readonly session?: string;
  readonly owner?: string;
  readonly limit?: number;
}

const DECISIONS = ["none", "allow", "rewrite", "deny"];
const STATUSES = ["ok", "failed", "timed_out"];
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const DURATION = /^(\d+)([smhdw])$/;
const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

export function addFilterOptions(command: Command, { limited }: { limited: string }): Command {
  return command
    .option("--event <name>", "of this event, for example PreToolUse", parseOneOf(Object.keys(EVENTS)))
    .option("--hook <id>", "of this hook, for example PreToolUse[0].hooks[0]", parseText)
    .option("--decision <decision>", DECISIONS.join(", "), parseOneOf(DECISIONS))
    .option("--status <status>", STATUSES.join(", "), parseOneOf(STATUSES))
    .option("--tool <name>", "of calls of this tool", parseText)
    .option(
      "--since <time>",
      "from this time on: ISO 8601 (UTC unless it says otherwise), or 2h, 3d ago",
      parseTime,
    )
    .option("--until <time>", "up to this time", parseTime)
    .option("--session <id>", "of this session", parseText)
    .option("--owner <id>", "of this owner (a host's receipts have one)", parseText)
    .option("--limit <n>", limited, parseLimit);
}

/** Ends with a usage error when no line could ever fit. */
export function checkPeriod(command: Command, { since, until }: Filters): void {
  if (since !== undefined && until !== undefined && since > until)
    command.error(`error: --since ${since} is later than --until ${until}`);
}

/** A line that lacks what is asked for is not meant. */
export function isMeant(entry: Entry, filters: Filters): boolean {
  const { event, hook, decision, status, tool, session, owner, since, until } = filters;
  return (
    (event === undefined || entry.event === event) &&
    (hook === undefined || entry.hook === hook) &&
    (decision === undefined || entry.decision === decision) &&
    (status === undefined || entry.status === status) &&
    (tool === undefined || entry.tool === tool) &&
    (session === undefined || entry.sessionId === session) &&
    (owner === undefined || entry.ownerId === owner) &&
    (since === undefined || Date.parse(entry.at) >= Date.parse(since)) &&
    (until === undefined || Date.parse(entry.at) <= Date.parse(until))
  );
}

function parseOneOf(known: readonly string[]): (value: string) => string {
  return (value) => {
    if (known.includes(value)) return value;
    throw new InvalidArgumentError(`known: ${known.join(", ")}`);
  };
}

function parseText(value: string): string {
  if (value === "") throw new InvalidArgumentError("it is empty");
  return value;
}

function parseLimit(value: string): number {
  const limit = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(limit) || limit < 1)
    throw new InvalidArgumentError("a whole number above 0");
  return limit;
}

function parseTime(value: string): string {
  const [, count = "", unit = ""] = DURATION.exec(value) ?? [];
  const ago = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  const time = new Date(Number.isNaN(ago) ? readIso(value) : Date.now() - ago);
  if (Number.isNaN(time.getTime()))
    throw new InvalidArgumentError("ISO 8601, for example 2026-07-01T10:00:00Z, or 90s, 30m, 2h, 3d, 1w ago");
  return time.toISOString();
}

/** NaN for what is no date, the 30th of February too. */
function readIso(value: string): number {
  const [, year, month, day, zone] = ISO.exec(value) ?? [];
  if (year === undefined) return Number.NaN;
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  return isDay ? Date.parse(zone === undefined && value.includes("T") ? `${value}Z` : value) : Number.NaN;
}
