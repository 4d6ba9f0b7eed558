// codex's --json lines as provider-neutral events. It shows no hook, no denied call and no call id (docs/providers/codex.md X-14).
// Never throws for what a line holds.

import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { createTypeReader, OTHER } from "../line-type.ts";
import type { StreamEvent, StreamParser, Wants } from "../provider.ts";
import { readLine, unparsed } from "../read-line.ts";

const TYPES = [
  "thread.started",
  "turn.started",
  "turn.completed",
  "turn.failed",
  "item.started",
  "item.completed",
  "error",
] as const;
const typeOf = createTypeReader(TYPES);
const ITEM_STARTED = TYPES.indexOf("item.started");

/** A finished item is always read: a turn without a message is no success, and what ends unseen did run. */
export function createStreamParser(wants: Wants = () => true): StreamParser {
  const skipsStarts = !wants("tool_call") && !wants("tool_result") && !wants("raw");
  const skipsOthers = !wants("raw");

  let hasItems = false;
  let hasMessage = false;
  let finalText: string | undefined;
  let turns = 0;

  const fromItem = (item: JsonObject, isDone: boolean): StreamEvent[] => {
    if (item.type !== "error") hasItems = true;
    switch (item.type) {
      case "agent_message":
        if (!isDone) return [];
        hasMessage = true;
        finalText = String(item.text ?? "");
        return [{ type: "message", role: "assistant", text: finalText }];
      case "reasoning":
        return isDone ? [{ type: "thinking", text: String(item.text ?? "") }] : [];
      case "error":
        return isDone
          ? [{ type: "warning", code: "provider_warning", message: String(item.message ?? "") }]
          : [];
      case "command_execution":
      case "file_change":
      case "mcp_tool_call":
      case "web_search":
      case "collab_tool_call":
        return isDone ? endCall(item) : startCall(item);
      default:
        return [{ type: "raw", payload: item }];
    }
  };

  /** Items that have started and not ended, by id. */
  const running = new Set<string>();
  const startCall = (item: JsonObject): StreamEvent[] => {
    running.add(String(item.id));
    return [toolCall(item)];
  };
  /** What ends without having been seen to start did run, unless it was declined. */
  const endCall = (item: JsonObject): StreamEvent[] => {
    const wasSeen = running.delete(String(item.id));
    return wasSeen || item.status === "declined" ? [toolResult(item)] : [toolCall(item), toolResult(item)];
  };

  const fromTurn = (line: JsonObject): StreamEvent[] => {
    turns += 1;
    const usage = isJsonObject(line.usage) ? line.usage : {};
    const isSilent = !hasItems && (usage.input_tokens ?? 0) === 0 && (usage.output_tokens ?? 0) === 0;
    // A blocked prompt is a completed turn without a model call and without a word about the block.
    if (isSilent)
      return [
        { type: "result", status: "prompt_blocked", reason: "the turn ended without a model call", turns: 0 },
      ];
    return [
      {
        type: "usage",
        ...count("inputTokens", usage.input_tokens),
        ...count("outputTokens", usage.output_tokens),
        ...count("cachedInputTokens", usage.cached_input_tokens),
      },
      {
        type: "result",
        // A model that refuses leaves no item at all, and the turn is called complete.
        ...(hasMessage
          ? { status: "ok", reason: "completed", ...(finalText === undefined ? {} : { text: finalText }) }
          : { status: "no_message", reason: "the turn ended without a message" }),
        turns,
      },
    ];
  };

  const skips: StreamParser["skips"] = (bytes, start, end) => {
    const type = typeOf(bytes, start, end);
    return (type === ITEM_STARTED && skipsStarts) || (type === OTHER && skipsOthers);
  };

  return {
    skips: skipsStarts || skipsOthers ? skips : undefined,
    push(text) {
      const line = readLine(text);
      if (line === undefined) return [unparsed(text)];
      const item = isJsonObject(line.item) ? line.item : undefined;
      switch (line.type) {
        case "thread.started":
          return [{ type: "session", providerSessionId: String(line.thread_id) }];
        case "turn.started":
          return [{ type: "turn_started" }];
        case "item.started":
          return item === undefined ? [] : fromItem(item, false);
        case "item.completed":
          return item === undefined ? [] : fromItem(item, true);
        case "turn.completed":
          return fromTurn(line);
        case "turn.failed":
          return [{ type: "result", status: "error", reason: messageOf(line.error), turns }];
        case "error":
          return [{ type: "warning", code: "provider_error", message: String(line.message ?? "") }];
        default:
          return [{ type: "raw", payload: line }];
      }
    },
    skip() {
      // It may have been a message, the last one even.
      hasItems = true;
      hasMessage = true;
      finalText = undefined;
    },
    end: () => [],
  };
}

function toolCall(item: JsonObject): StreamEvent {
  const { id, type, status: _status, aggregated_output: _output, exit_code: _code, ...input } = item;
  return { type: "tool_call", id: String(id), name: String(type), input, started: true };
}

function toolResult(item: JsonObject): StreamEvent {
  const { id, type, status } = item;
  const output: Json = item.aggregated_output ?? item.result ?? item.changes ?? null;
  return {
    type: "tool_result",
    id: String(id),
    name: String(type),
    denied: status === "declined",
    isError: status === "failed",
    output,
  };
}

function count(name: string, value: Json | undefined): Record<string, number> {
  return typeof value === "number" ? { [name]: value } : {};
}

function messageOf(error: Json | undefined): string {
  if (isJsonObject(error) && typeof error.message === "string") return error.message;
  return JSON.stringify(error ?? "turn failed");
}
