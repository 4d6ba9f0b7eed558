// Appends one JSON line for each call to a file. Never writes what a tool was given or gave back, only names, sizes, paths and the redacted
// command. A line that cannot be written is an error: on a gate that denies, for an audit that is silently absent is none.

import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import type { FunctionEntry } from "../declaration/types.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { EVENT_NAMES, type EventName, isEventName } from "../profile/events.ts";
import { createRedactor, type Redactor } from "../redaction/redactor.ts";
import { checkOptions, checkStrings, optionError } from "./options.ts";
import { readCall } from "./read-call.ts";

export interface AuditLogOptions {
  /** The file; relative to the working directory of this process. Made with mode 0600; one that others may read is refused. */
  readonly path: string;
  /** Events that are written; others pass unwritten. @default all that the entry is declared on */
  readonly events?: readonly EventName[];
}

const NAME = "auditLog";
/** Kept of a command and of each path, in UTF-16 units. */
const TEXT_MAX = 4_096;
const PATHS_MAX = 100;

/**
 * For any event; the same entry may stand on several. Throws `TypeError` for options that cannot be used. The file is first touched by the
 * first call.
 * @example const audit = auditLog({ path: "/var/log/agent/audit.jsonl" });
 */
export function auditLog(options: AuditLogOptions): FunctionEntry {
  checkOptions(NAME, options, ["path", "events"]);
  const { path, events } = options ?? {};
  if (typeof path !== "string" || path === "" || path.includes("\0"))
    throw optionError(`${NAME}: path`, "the path of a file", path);
  const wanted =
    events === undefined
      ? undefined
      : new Set<string>(checkStrings(`${NAME}: events`, events, { isEmptyFine: false }));
  for (const name of wanted ?? [])
    if (!isEventName(name))
      throw optionError(`${NAME}: events`, `names of events (${EVENT_NAMES.join(", ")})`, name);
  const file = resolve(path);
  // Secrets of this process's environment go by their value, whatever their shape.
  const redactor = createRedactor({ env: process.env });
  return {
    type: "function",
    name: NAME,
    handler: (envelope) => {
      if (wanted !== undefined && !wanted.has(envelope.hook_event_name)) return undefined;
      appendLine(file, `${JSON.stringify(describeCall(envelope, redactor))}\n`);
      return undefined;
    },
  };
}

function describeCall(envelope: Envelope, redactor: Redactor): Record<string, unknown> {
  const { tool, kind, command, paths } = readCall(envelope);
  const cut = (text: string) => {
    const shown = redactor.text(text);
    return shown.length > TEXT_MAX ? `${shown.slice(0, TEXT_MAX)}…` : shown;
  };
  const { tool_input: input, tool_response: response, prompt, provider } = envelope;
  return {
    time: new Date().toISOString(),
    event: envelope.hook_event_name,
    session_id: envelope.session_id,
    run_id: envelope.run_id,
    ...(typeof provider === "string" ? { provider } : {}),
    ...(tool === "" ? {} : { tool, kind }),
    ...(paths.length === 0 ? {} : { paths: paths.slice(0, PATHS_MAX).map(cut), paths_count: paths.length }),
    ...(command === undefined ? {} : { command: cut(command), command_bytes: Buffer.byteLength(command) }),
    ...(input === undefined ? {} : { input_bytes: sizeOf(input) }),
    ...(response === undefined ? {} : { response_bytes: sizeOf(response) }),
    ...(typeof prompt === "string" ? { prompt_bytes: Buffer.byteLength(prompt) } : {}),
  };
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

function appendLine(file: string, line: string): void {
  const fail = (why: string, cause?: unknown) =>
    new Error(`${NAME}: cannot append to ${file}: ${why}`, cause === undefined ? {} : { cause });
  let fd: number;
  try {
    // O_NONBLOCK: a pipe that nobody reads must be an error, not a wait. O_NOFOLLOW: a link may lead anywhere.
    const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
    fd = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw fail((error as Error).message, error);
  }
  try {
    const { mode } = fstatSync(fd);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw fail("it is no regular file");
    if ((mode & 0o077) !== 0)
      throw fail(`its mode is 0${(mode & 0o777).toString(8)}, so others may read or change it; chmod 600 it`);
    const bytes = Buffer.from(line);
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
  } catch (error) {
    if ((error as Error).message.startsWith(NAME)) throw error;
    throw fail((error as Error).message, error);
  } finally {
    closeSync(fd);
  }
}
