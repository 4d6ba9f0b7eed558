// claude's stream-json lines as provider-neutral events. Never throws for what a line holds.

import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { createTypeReader, OTHER } from "../line-type.ts";
import type { StreamEvent, StreamParser, Wants } from "../provider.ts";
import { readLine, unparsed } from "../read-line.ts";

/** Denied calls remembered until their result; claude runs far fewer at a time. */
const DENIED_MAX = 4096;
/** Longest id that is remembered, in UTF-16 units. */
const ID_MAX = 1024;

const TYPES = ["assistant", "user", "system", "result", "control_request", "control_response"] as const;
const typeOf = createTypeReader(TYPES);
const ASSISTANT = TYPES.indexOf("assistant");
const USER = TYPES.indexOf("user");

export function createStreamParser(wants: Wants = () => true): StreamParser {
  const skipsAssistant = !(["message", "thinking", "tool_call", "raw"] as const).some(wants);
  const skipsUser = !wants("tool_result");
  const skipsOthers = !wants("raw");
  /** That the model works was said: from there a line of it says nothing new to who does not want it. */
  let hasWorked = false;

  /** A tool_result that names a hook or a rule as its judge did not run; the `permission_denied` line says so too. */
  const deniedIds = new Set<string>();
  let isPromptBlocked = false;
  let isRefused = false;
  let hasResult = false;

  const noteDenied = (id: Json | undefined) => {
    if (typeof id !== "string" || id.length > ID_MAX) return;
    deniedIds.add(id);
    const [oldest] = deniedIds;
    if (deniedIds.size > DENIED_MAX && oldest !== undefined) deniedIds.delete(oldest);
  };

  const fromSystem = (line: JsonObject): StreamEvent[] => {
    switch (line.subtype) {
      case "init":
        return [
          {
            type: "session",
            providerSessionId: String(line.session_id),
            ...(typeof line.model === "string" ? { model: line.model } : {}),
          },
        ];
      case "hook_started":
        return [{ type: "provider_hook", event: String(line.hook_event) }];
      case "hook_response":
        return [
          {
            type: "provider_hook",
            event: String(line.hook_event),
            ...(typeof line.exit_code === "number" ? { exitCode: line.exit_code } : {}),
            ...(typeof line.outcome === "string" ? { outcome: line.outcome } : {}),
          },
        ];
      case "informational":
        return fromInformational(line);
      case "permission_denied":
        noteDenied(line.tool_use_id);
        return [];
      case "model_refusal_no_fallback":
        isRefused = true;
        return [{ type: "raw", payload: line }];
      case "api_retry":
        return [{ type: "warning", code: "api_retry", message: JSON.stringify(line) }];
      default:
        return [{ type: "raw", payload: line }];
    }
  };

  const fromInformational = (line: JsonObject): StreamEvent[] => {
    if (isJsonObject(line.prompt_submit_outcome) && line.prompt_submit_outcome.kind === "blocked_by_hook") {
      isPromptBlocked = true;
      return [
        { type: "warning", code: "prompt_blocked", message: String(line.prompt_submit_outcome.reason ?? "") },
      ];
    }
    if (line.tag === "hook_no_verdict" || line.tag === "hook_callback_failed") {
      const tag = String(line.tag);
      const details = isJsonObject(line[tag]) ? line[tag] : {};
      const timedOut = details.timed_out === true ? ", timed out" : "";
      return [
        {
          type: "provider_hook",
          event: String(details.hook_event ?? "PreToolUse"),
          noVerdict: true,
          ...(typeof details.tool_use_id === "string" ? { toolUseId: details.tool_use_id } : {}),
          evidence: `${tag}${timedOut}`,
        },
      ];
    }
    return [
      { type: "warning", code: String(line.tag ?? "informational"), message: String(line.content ?? "") },
    ];
  };

  const fromUser = (line: JsonObject): StreamEvent[] => {
    const decisions = decisionsOf(line);
    return blocksOf(line)
      .filter((block) => block.type === "tool_result")
      .map((block) => {
        const id = String(block.tool_use_id);
        const decision = decisions.get(id);
        const denied = decision === "reject" || deniedIds.has(id);
        // An unknown tool or a bad input is an error result too, without a hook and without a run.
        const ran = !denied && (decision === "accept" || block.is_error !== true);
        return {
          type: "tool_result",
          id,
          denied,
          ran,
          isError: block.is_error === true,
          output: block.content ?? null,
        };
      });
  };

  const skips: StreamParser["skips"] = (bytes, start, end) => {
    const type = typeOf(bytes, start, end);
    // Behind a final message, a line of the model begins another turn.
    if (type === ASSISTANT) return skipsAssistant && hasWorked && !hasResult;
    return (type === USER && skipsUser) || (type === OTHER && skipsOthers);
  };

  return {
    skips: skipsAssistant || skipsUser || skipsOthers ? skips : undefined,
    push(text) {
      const line = readLine(text);
      if (line === undefined) return [unparsed(text)];
      switch (line.type) {
        case "system":
          return fromSystem(line);
        case "assistant": {
          // Work of the main agent behind a final message is another turn.
          hasWorked = true;
          const isNewTurn = hasResult && line.parent_tool_use_id == null;
          if (isNewTurn) hasResult = false;
          const events = fromAssistant(line);
          return isNewTurn ? [{ type: "turn_started" }, ...events] : events;
        }
        case "user":
          return fromUser(line);
        case "result":
          hasResult = true;
          return fromResult(line, { isPromptBlocked, isRefused });
        case "control_response":
        case "control_request":
        case "control_cancel_request":
          return [{ type: "control", payload: line }];
        default:
          return [{ type: "raw", payload: line }];
      }
    },
    skip() {},
    end: () => [],
  };
}

/** What was decided about each call of the line, by its id; the first entry of an id counts. */
function decisionsOf({ tool_result_meta: entries }: JsonObject): Map<Json | undefined, Json | undefined> {
  const decisions = new Map<Json | undefined, Json | undefined>();
  for (const entry of Array.isArray(entries) ? entries.filter(isJsonObject) : []) {
    const { id, permission_decision: said } = entry;
    if (!decisions.has(id)) decisions.set(id, isJsonObject(said) ? said.decision : undefined);
  }
  return decisions;
}

/** Most lines are these: no spread, no list that is thrown away. */
function fromAssistant(line: JsonObject): StreamEvent[] {
  const isSubagent = line.parent_tool_use_id != null;
  const content = isJsonObject(line.message) ? line.message.content : undefined;
  const events: StreamEvent[] = [];
  if (!Array.isArray(content)) return events;
  for (const block of content) if (isJsonObject(block)) events.push(fromBlock(block, isSubagent));
  return events;
}

function fromBlock(block: JsonObject, isSubagent: boolean): StreamEvent {
  switch (block.type) {
    case "text": {
      const text = String(block.text);
      return isSubagent
        ? { type: "message", role: "assistant", text, subagent: true }
        : { type: "message", role: "assistant", text };
    }
    case "thinking":
      return { type: "thinking", text: String(block.thinking) };
    case "tool_use":
      return {
        type: "tool_call",
        id: String(block.id),
        name: String(block.name),
        input: block.input ?? {},
      };
    default:
      return { type: "raw", payload: block };
  }
}

/** What earlier lines said that the last one does not. */
interface Seen {
  readonly isPromptBlocked: boolean;
  /** The model refused, once more after claude had asked it to go on (C-48). */
  readonly isRefused: boolean;
}

function fromResult(line: JsonObject, seen: Seen): StreamEvent[] {
  const { usage, total_cost_usd: cost, result, num_turns: turns } = line;
  const counted = isJsonObject(usage) ? usage : {};
  const number = (name: string, value: Json | undefined) =>
    typeof value === "number" ? { [name]: value } : {};
  return [
    {
      type: "usage",
      ...number("inputTokens", counted.input_tokens),
      ...number("outputTokens", counted.output_tokens),
      ...number("cachedInputTokens", counted.cache_read_input_tokens),
      ...number("costUsd", cost),
    },
    {
      type: "result",
      ...classify(line, seen),
      ...(typeof result === "string" && !seen.isPromptBlocked ? { text: result } : {}),
      ...number("turns", turns),
    },
  ];
}

/** The exit code and `subtype` are no verdict: API errors say `success`, a blocked prompt does too (C-15). */
function classify(
  line: JsonObject,
  { isPromptBlocked, isRefused }: Seen,
): Pick<Extract<StreamEvent, { type: "result" }>, "status" | "reason"> {
  const reason = String(line.terminal_reason ?? line.subtype ?? "unknown");
  if (isPromptBlocked && line.num_turns === 0) return { status: "prompt_blocked", reason: "prompt_blocked" };
  if (reason.startsWith("aborted")) return { status: "interrupted", reason };
  // Anything but a plain no is an error: a form that is not known must not make a success.
  if (line.subtype !== "success" || (line.is_error ?? false) !== false)
    return { status: "error", reason: isRefused && reason === "api_error" ? "refusal" : reason };
  if (line.stop_reason === "refusal") return { status: "error", reason: "refusal" };
  if (reason !== "completed" && reason !== "success") return { status: "error", reason };
  return typeof line.result === "string"
    ? { status: "ok", reason: "completed" }
    : { status: "no_message", reason: "the result holds no message" };
}

function blocksOf(line: JsonObject): JsonObject[] {
  const content = isJsonObject(line.message) ? line.message.content : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}
