// One line of receipts, of a run or of a host, with the same names for what both have. Everything but this file asks an entry, not a line.

import type { FoundReceipt, HookReceipt, JsonlLine, StampedReceipt } from "../../index.ts";

export interface Entry {
  readonly of: FoundReceipt["of"];
  /** As in the line: `execution` or `hook` of a host, or the kind of a run's line. */
  readonly kind: string;
  readonly at: string;
  /** A hook has run, and this is its receipt. */
  readonly isExecution: boolean;
  readonly runId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly ownerId?: string | undefined;
  readonly event?: string | undefined;
  readonly call?: number | undefined;
  readonly hook?: string | undefined;
  readonly decision?: string | undefined;
  readonly status?: HookReceipt["status"] | undefined;
  readonly tool?: string | undefined;
  readonly line: JsonlLine | StampedReceipt;
}

/** Runs, and calls of them, that are remembered of one file: what a later line does not say again. */
const REMEMBERED = 4096;

/** For one file: a run's session stands in its first line alone, and a call's tool where it was fired. */
export function createEntryReader(): (found: FoundReceipt) => Entry {
  const sessions = new Map<string, string>();
  const tools = new Map<string, string>();
  return (found) => {
    if (found.of === "host") return readHostLine(found.line);
    const { line } = found;
    if (line.kind === "run_started") remember(sessions, line.run_id, line.session_id);
    if (line.kind === "fired" && line.tool_name !== undefined)
      remember(tools, callKey(line.run_id, line.call), line.tool_name);
    const fields = line as Partial<Record<string, unknown>>;
    const isExecution = line.kind === "hook";
    const { call } = fields;
    return {
      of: "run",
      kind: line.kind,
      at: line.at,
      isExecution,
      runId: line.run_id,
      sessionId: sessions.get(line.run_id),
      event: textOf(fields.event),
      call: typeof call === "number" ? call : undefined,
      hook: isExecution ? textOf(fields.hook) : undefined,
      decision: textOf(fields.decision),
      status: isExecution ? statusOf(fields) : undefined,
      tool: typeof call === "number" ? tools.get(callKey(line.run_id, call)) : undefined,
      line,
    };
  };
}

export function readHostLine(line: JsonlLine): Entry {
  const { kind, event, owner_id: ownerId } = line;
  if (kind === "hook")
    return {
      of: "host",
      kind,
      at: line.registered_at,
      isExecution: false,
      ownerId,
      event,
      hook: line.id,
      line,
    };
  const { run_id: runId, session_id: sessionId, call, hook, decision, status, tool_name: tool } = line;
  const at = line.started_at;
  return {
    of: "host",
    kind,
    at,
    isExecution: true,
    runId,
    sessionId,
    ownerId,
    event,
    call,
    hook,
    decision,
    status,
    tool,
    line,
  };
}

function statusOf({ failed, exit }: Partial<Record<string, unknown>>): HookReceipt["status"] {
  if (failed !== true) return "ok";
  return exit === "timeout" ? "timed_out" : "failed";
}

function callKey(runId: string, call: number): string {
  return `${call} ${runId}`;
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  if (map.size > REMEMBERED) for (const [oldest] of map) return void map.delete(oldest);
}

/** Another version may have written something else there. */
function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
