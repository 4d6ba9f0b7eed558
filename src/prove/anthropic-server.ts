// A scripted Anthropic Messages API on loopback, as far as claude needs one. Shapes measured: docs/providers/claude.md.

import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { ConversationItem } from "./conversation.ts";
import {
  type Dialect,
  type EncodedAnswer,
  type ModelCall,
  type ModelServer,
  type ModelServerOptions,
  startModelServer,
  stepText,
} from "./loopback-server.ts";
import { FINAL_TEXT, type PlannedCall, planCalls, stepForTurn } from "./script.ts";

/** Starts a scripted Messages API. @example await using server = await startAnthropicServer({ scripts: { "my prompt": [] } }) */
export function startAnthropicServer(options: ModelServerOptions): Promise<ModelServer> {
  return startModelServer(anthropicDialect, options);
}

const anthropicDialect: Dialect = {
  isModelCall: (method, path) => method === "POST" && path.endsWith("/v1/messages"),
  answerOther: (method, path) =>
    method === "POST" && path.endsWith("/v1/messages/count_tokens")
      ? { status: 200, body: { input_tokens: 10 } }
      : { status: 404, body: errorBody(404, `no ${method} ${path} here`) },
  errorBody,
  readItems,
  readOfferedTools: (body) =>
    objectsOf(body.tools).flatMap(({ name }) => (typeof name === "string" ? [name] : [])),
  encode,
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function errorBody(status: number, message: string): JsonObject {
  return { type: "error", error: { type: ERROR_TYPES[status] ?? "api_error", message } };
}

function readItems(body: JsonObject): ConversationItem[] {
  return objectsOf(body.messages).flatMap((message): ConversationItem[] => {
    const blocks: JsonObject[] =
      typeof message.content === "string"
        ? [{ type: "text", text: message.content }]
        : objectsOf(message.content);
    return blocks.flatMap((block): ConversationItem[] => {
      if (message.role === "assistant") {
        return [{ from: "model", ...(typeof block.id === "string" ? { callId: block.id } : {}) }];
      }
      if (block.type === "tool_result" && typeof block.tool_use_id === "string") {
        return [{ from: "tool", callId: block.tool_use_id, text: textOf(block.content) }];
      }
      return typeof block.text === "string" ? [{ from: "outside", text: block.text }] : [];
    });
  });
}

function encode({ body, position, fault, offered }: ModelCall): EncodedAnswer {
  // A request that offers no tools is a side request (a title, a summary): a tool call would mean nothing there.
  const scripted = position !== undefined && offered.length > 0 ? position : undefined;
  const step = scripted && stepForTurn(scripted.script.script, scripted.turn)?.step;
  const calls = scripted ? planCalls(scripted.script, scripted.turn) : [];
  const text = step === undefined ? FINAL_TEXT : stepText(step.text, fault);
  const content: JsonObject[] = [
    ...(text === undefined && calls.length > 0 ? [] : [{ type: "text", text: text ?? FINAL_TEXT }]),
    ...calls.map((call): JsonObject => ({ type: "tool_use", id: call.id, ...toolFor(call, offered) })),
  ];
  const message = {
    id: `msg_${scripted?.script.mark ?? "side"}_${scripted?.turn ?? 0}`,
    type: "message",
    role: "assistant",
    model: typeof body.model === "string" ? body.model : "scripted",
    stop_sequence: null,
  };
  const stopReason = fault?.kind === "refuse" ? "refusal" : calls.length > 0 ? "tool_use" : "end_turn";
  const usage = { input_tokens: 10, output_tokens: 10 };
  if (body.stream !== true) {
    const whole = JSON.stringify({ ...message, content, stop_reason: stopReason, usage });
    return { contentType: "application/json", head: whole.slice(0, 1), rest: whole.slice(1) };
  }
  const events: JsonObject[] = content.flatMap((block, index) => encodeBlock(block, index));
  events.push({
    type: "message_delta",
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { output_tokens: 10 },
  });
  events.push({ type: "message_stop" });
  return {
    contentType: "text/event-stream",
    head: sse({ type: "message_start", message: { ...message, content: [], stop_reason: null, usage } }),
    rest: events.map(sse).join(""),
  };
}

function encodeBlock(block: JsonObject, index: number): JsonObject[] {
  const start: JsonObject = block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} };
  const delta: JsonObject =
    block.type === "text"
      ? { type: "text_delta", text: block.text ?? "" }
      : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
  return [
    { type: "content_block_start", index, content_block: start },
    { type: "content_block_delta", index, delta },
    { type: "content_block_stop", index },
  ];
}

function toolFor({ tool, agentPrompt }: PlannedCall, offered: readonly string[]): JsonObject {
  switch (tool.kind) {
    case "shell":
      return { name: "Bash", input: { command: tool.command, description: "scripted command" } };
    case "write":
      return { name: "Write", input: { file_path: tool.path, content: tool.content } };
    case "agent":
      return {
        name: offered.includes("Agent") ? "Agent" : "Task",
        input: {
          description: "scripted subagent",
          subagent_type: "general-purpose",
          prompt: agentPrompt ?? tool.prompt,
          run_in_background: false,
        },
      };
    case "raw":
      return { name: tool.name, input: tool.input };
    case "edit-patch":
      throw new TypeError("An edit-patch step needs codex: claude has no patch tool. Use write or raw Edit.");
  }
}

function sse(event: JsonObject): string {
  return `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
}

function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return objectsOf(content)
    .map((block) => (typeof block.text === "string" ? block.text : JSON.stringify(block)))
    .join("\n");
}
