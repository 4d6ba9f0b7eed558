// Receipts in words, one line each; denials and failures in capitals. What it returns is safe for a terminal.

import { type JsonlLine, type StampedReceipt, toOneLine } from "../../index.ts";
import type { Entry } from "./entry.ts";

/** One or two lines: a failure's own words stand below it. */
export function describeEntry(entry: Entry): string[] {
  const words = entry.of === "host" ? describeHost(entry.line as JsonlLine) : describeRun(entry);
  return words.map((line, index) => toOneLine(index === 0 ? `${entry.at}  ${line}` : `    ${line}`));
}

function describeHost(line: JsonlLine): string[] {
  if (line.kind === "hook") {
    const { id, event, type, name, matcher = "*", failure_mode } = line;
    return [`registered  ${event} ${matcher}  ${id} (${type} ${name}), failure mode ${failure_mode}`];
  }
  const { event, call, tool_name, hook, hook_type, status, decision, duration_ms, exit, error } = line;
  const told = [
    `${event} #${call}${tool_name === undefined ? "" : ` ${tool_name}`}`,
    `${hook} (${hook_type})`,
    describeDecision(status, decision),
    `${duration_ms} ms`,
    exit,
    ...(line.asked === undefined ? [] : [`asked: ${line.asked}`]),
    ...(line.background ? ["in the background"] : []),
    ...(line.notes.length === 0 ? [] : [line.notes.join(", ")]),
  ];
  return [told.join("  "), ...(error === undefined ? [] : [error])];
}

/** The kinds that a person looks for have words of their own; the rest is told as it is. */
function describeRun({ line: anyLine, status, tool }: Entry): string[] {
  const line = anyLine as StampedReceipt;
  const onTool = tool === undefined ? "" : ` ${tool}`;
  switch (line.kind) {
    case "run_started":
      return [
        `run_started  ${line.provider} ${line.provider_version}, session ${line.session_id}, in ${line.cwd}`,
      ];
    case "turn":
      return [`turn ${line.turn} ${line.state}${line.status === undefined ? "" : `: ${line.status}`}`];
    case "tool_called":
      return [
        `tool_called  ${line.tool_name}${line.tool_use_id === undefined ? "" : `  ${line.tool_use_id}`}`,
      ];
    case "tool_ended": {
      const subject = [line.tool_name, line.tool_use_id].filter((word) => word !== undefined).join(" ");
      return [`tool_ended  ${subject}  ${line.denied ? "DENIED" : line.failed ? "FAILED" : "ok"}`];
    }
    case "fired":
      return [`fired  ${line.event} #${line.call}${onTool}`];
    case "hook": {
      const told = [
        `${line.event} #${line.call}${onTool}`,
        line.hook,
        describeDecision(status ?? "ok", line.decision),
        `${line.duration_ms} ms`,
        line.exit,
        ...(line.background === true ? ["in the background"] : []),
        ...(line.leftovers > 0 ? [`${line.leftovers} process(es) left behind`] : []),
      ];
      return [told.join("  "), ...listOf(line.notes).map(({ code, detail }) => `${code}: ${detail}`)];
    }
    case "verdict": {
      const late = line.in_time ? "" : "  LATE";
      const by = listOf(line.matched).length === 0 ? "" : `  by ${line.matched.join(", ")}`;
      return [
        `verdict  ${line.event} #${line.call}${onTool}  ${describeDecision("ok", line.decision)}  ${line.duration_ms} ms${late}${by}`,
        ...(line.reason === undefined ? [] : [line.reason]),
      ];
    }
    case "fault":
      return [`FAULT  ${line.fault}${line.event === undefined ? "" : ` ${line.event}`}: ${line.detail}`];
    case "warning":
      return [`warning  ${line.code}: ${line.message}`];
    case "run_ended":
      return [
        `run_ended  ${line.outcome}: ${line.reason}  ${line.duration_ms} ms, processes ${line.extinction}`,
      ];
    default: {
      const { kind, run_id: _run, seq: _seq, at: _at, ...rest } = line;
      return [`${kind}  ${JSON.stringify(rest)}`];
    }
  }
}

function describeDecision(status: string, decision: string): string {
  const decided = decision === "deny" ? "DENIED" : decision;
  if (status === "ok") return decided;
  return `${status === "timed_out" ? "TIMED OUT" : status.toUpperCase()}, ${decided}`;
}

/** Another version may have written something else there. */
function listOf<T>(value: readonly T[]): readonly T[] {
  return Array.isArray(value) ? value : [];
}
