// What a cassette holds, one JSON object a line: a header, the events with their time, the result. Reading is strict: a cassette
// that is not whole must not pass for a run.

import { readFileSync } from "node:fs";
import { z } from "zod";
import { PROVIDERS } from "../../profile/events.ts";
import type { AgentEvent } from "../../spawn/events.ts";
import type { RunResult } from "../../spawn/result.ts";

const FORMAT = "agent-bridle cassette";
/** Of this package. A reader refuses a newer one. */
const VERSION = 1;

const header = z.object({
  format: z.literal(FORMAT),
  version: z.number().int().positive(),
  provider: z.enum(PROVIDERS),
  providerVersion: z.string(),
  runId: z.string().min(1),
});
const at = z.number().nonnegative();
const event = z.object({
  at,
  event: z.looseObject({ type: z.string(), seq: z.number().int().nonnegative(), runId: z.string() }),
});
const result = z.object({
  at,
  /** How many events stand before it. */
  events: z.number().int().nonnegative(),
  result: z.looseObject({ runId: z.string(), outcome: z.string(), reason: z.string() }),
});

export type CassetteHeader = z.infer<typeof header>;

export interface Cassette {
  readonly header: CassetteHeader;
  /** In their order; `at` is milliseconds since the recording began. */
  readonly events: readonly { readonly at: number; readonly event: AgentEvent }[];
  readonly end: { readonly at: number; readonly result: RunResult };
}

/** A cassette that cannot be replayed. The message names file and line. */
export class CassetteInvalid extends Error {
  readonly file: string;
  /** From 1. */
  readonly line: number;

  constructor(file: string, line: number, problem: string, options?: ErrorOptions) {
    super(`${file}:${line}: ${problem}`, options);
    this.name = "CassetteInvalid";
    this.file = file;
    this.line = line;
  }
}

export function headerLine(run: Omit<CassetteHeader, "format" | "version">): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, ...run })}\n`;
}

/** @throws CassetteInvalid; the file system's own error when there is no such file. */
export function readCassette(file: string): Cassette {
  const lines = readFileSync(file, "utf8").split("\n");
  const fail = (index: number, problem: string, cause?: unknown): never => {
    throw new CassetteInvalid(file, index + 1, problem, { cause });
  };
  const isWhole = lines.at(-1) === "";
  if (isWhole) lines.pop();
  const values = lines.map((line, index): unknown => {
    try {
      return JSON.parse(line);
    } catch (error) {
      if (index === 0) return fail(index, "is no cassette: the first line is no JSON", error);
      if (index === lines.length - 1 && !isWhole)
        return fail(index, "the recording was cut inside this line", error);
      return fail(index, `no JSON: ${String(error)}`, error);
    }
  });
  const parse = <Shape extends z.ZodType>(shape: Shape, index: number, what: string): z.infer<Shape> => {
    const { data, error } = shape.safeParse(values[index]);
    if (error === undefined) return data;
    const [issue] = error.issues;
    return fail(index, `${what}: ${issue?.path.join(".")}: ${issue?.message}`);
  };

  const first = values[0] as { format?: unknown; version?: unknown } | null | undefined;
  if (first?.format !== FORMAT) fail(0, `is no cassette: expected format ${JSON.stringify(FORMAT)}`);
  if (typeof first?.version === "number" && first.version > VERSION)
    fail(
      0,
      `has format version ${first.version}, and this package reads ${VERSION}: use a newer agent-bridle`,
    );
  const head = parse(header, 0, "the header is damaged");

  const last = values.length - 1;
  const lastValue = values[last];
  if (last === 0 || typeof lastValue !== "object" || lastValue === null || !("result" in lastValue))
    fail(last, "the recording ends here, without a result: it was cut");
  const events = values.slice(1, -1).map((_value, index) => parse(event, index + 1, "no event of a run"));
  for (const [index, { event: found, at: time }] of events.entries()) {
    const before = events[index - 1];
    if (found.runId !== head.runId) fail(index + 1, `an event of another run, ${found.runId}`);
    if (before !== undefined && (found.seq <= before.event.seq || time < before.at))
      fail(
        index + 1,
        `event ${found.seq} stands behind event ${before.event.seq}: lines are missing or out of order`,
      );
  }
  const end = parse(result, last, "no result of a run");
  if (end.events !== events.length)
    fail(last, `${end.events} events were recorded, and ${events.length} are here: lines are missing`);
  if (end.result.runId !== head.runId) fail(last, `the result of another run, ${end.result.runId}`);
  return { header: head, events, end } as unknown as Cassette;
}
