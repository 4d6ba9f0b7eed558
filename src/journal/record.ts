// The lines of a run's journal: what somebody else needs to end the run and to tell its agent_exit hooks, and no more. Never the prompt,
// never the value of a variable, never an argument that holds a known secret.

import { z } from "zod";

const pid = z.number().int().positive();
const text = z.string().min(1);
const count = z.number().int().nonnegative();
const at = z.iso.datetime();
const by = z.enum(["supervisor", "recovery"]);

const runId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/);
const absolute = z.string().regex(/^\/[^\0]*$/);
const directory = z.object({ path: absolute, dev: count, ino: count });

export const processIdentity = z.object({
  pid,
  startTime: z.string().regex(/^\d+$/).nullable(),
  bootId: text.nullable(),
  pidNamespace: text.nullable(),
  machine: z.string(),
});

const fileIdentity = z.object({
  path: absolute,
  dev: count,
  ino: count,
  size: count,
  mtimeMs: z.number(),
  ctimeMs: z.number(),
  mode: count,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

export const exitHook = z.object({
  /** Place in the declaration, for example `agent_exit[0].hooks[1]`. */
  id: text,
  type: z.enum(["command", "function", "http"]),
  /** sha256 over what runs; finds the same hook in a token. */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  timeoutMs: z.number().positive(),
  onFailure: z.enum(["closed", "open"]),
  grants: z.boolean(),
  /** Commands only, where the entry has one. */
  where: z.record(z.string(), z.json()).optional(),
  /** Commands only; null when a word, or the entry's `where`, holds a known secret: then only a token can deliver. */
  argv: z.array(z.string()).min(1).nullable().optional(),
  argv0: text.optional(),
  files: z.array(fileIdentity).optional(),
  /** Names of the entry's own variables; the values are not kept. */
  envNames: z.array(text).optional(),
  /** Those of them that are read from another variable, as `env:NAME`. */
  envReferences: z.record(text, z.string().startsWith("env:")).optional(),
});

const admitted = z.object({
  type: z.literal("admitted"),
  version: z.literal(1),
  at,
  runId,
  sessionId: text,
  provider: z.enum(["claude", "codex"]),
  cwd: absolute,
  marker: runId,
  supervisor: processIdentity,
  /** Of the declaration's token. */
  digest: text,
  /** Number of declared hooks. */
  hooks: count,
  /** File of the receipts; null with a sink. */
  receiptPath: absolute.nullable(),
  /** Where the run directory is to be made; null when that could not be told yet. */
  plannedDirectory: absolute.nullable(),
  /** Where the agent's temporary directory is to be made; null when that could not be told yet. */
  plannedTmpDir: absolute.nullable(),
  projectRoot: absolute,
  /** PATH of the hooks. */
  hookPath: z.string(),
  exitChain: z.array(exitHook),
});

const prepared = z.object({ type: z.literal("prepared"), at, runDirectory: directory, tmpDir: directory });

const started = z.object({
  type: z.literal("started"),
  at,
  pid,
  startTime: z.string().regex(/^\d+$/).nullable(),
  groupId: pid,
});

const exitStarted = z.object({ type: z.literal("exit_started"), at, by });

const ended = z.object({
  type: z.literal("ended"),
  at,
  by,
  outcome: text,
  reason: z.string(),
  exitDelivery: z.enum(["delivered", "none", "unknown", "undeliverable"]),
});

const lineSchema = z.discriminatedUnion("type", [admitted, prepared, started, exitStarted, ended]);

export type JournalLine = z.infer<typeof lineSchema>;
export type Admitted = z.infer<typeof admitted>;
export type Prepared = z.infer<typeof prepared>;
export type StartedLine = z.infer<typeof started>;
export type EndedLine = z.infer<typeof ended>;
export type ExitHook = z.infer<typeof exitHook>;
export type DirectoryRecord = z.infer<typeof directory>;
/** What became of the agent_exit chain. `unknown`: it was started, and whoever started it did not live to say how it ended. */
export type ExitDelivery = EndedLine["exitDelivery"];

/** A journal, its lines folded. */
export interface RunRecord {
  readonly admitted: Admitted;
  readonly prepared: Prepared | undefined;
  readonly started: StartedLine | undefined;
  readonly isExitStarted: boolean;
  readonly ended: EndedLine | undefined;
}

/** The record, or what is wrong with it. The name of the file must be the run id. */
export function parseJournal(content: string, expectedRunId: string): RunRecord | string {
  if (content === "") return "is empty";
  if (!content.endsWith("\n")) return "its last line was cut";
  const lines: JournalLine[] = [];
  for (const [index, line] of content.slice(0, -1).split("\n").entries()) {
    const parsed = parseLine(line);
    if (typeof parsed === "string") return `line ${index + 1} ${parsed}`;
    lines.push(parsed);
  }
  const [first, ...rest] = lines;
  if (first?.type !== "admitted") return "does not begin with an admission";
  if (first.runId !== expectedRunId) return `is named for another run than ${first.runId}`;
  const find = <Type extends JournalLine["type"]>(type: Type) =>
    rest.find((line): line is Extract<JournalLine, { type: Type }> => line.type === type);
  for (const type of ["admitted", "prepared", "started", "exit_started", "ended"] as const) {
    if (rest.filter((line) => line.type === type).length > (type === "admitted" ? 0 : 1))
      return `has more than one ${type} line`;
  }
  return {
    admitted: first,
    prepared: find("prepared"),
    started: find("started"),
    isExitStarted: find("exit_started") !== undefined,
    ended: find("ended"),
  };
}

function parseLine(line: string): JournalLine | string {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return "is no JSON";
  }
  const { success, data, error } = lineSchema.safeParse(json);
  if (success) return data;
  const [issue] = error.issues;
  return `does not have the shape of a journal: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`;
}
