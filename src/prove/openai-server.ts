// A scripted OpenAI Responses API on loopback, as far as codex needs one: classic tools and code mode, told apart by
// the tools the request offers. Shapes measured: docs/providers/codex.md.

import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { encodeCalls, pendingWait, readCellResults } from "./codex-tools.ts";
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
import { FINAL_TEXT, planCalls, stepForTurn } from "./script.ts";

/** Starts a scripted Responses API. @example await using server = await startOpenaiServer({ scripts: { "my prompt": [] } }) */
export function startOpenaiServer(options: ModelServerOptions): Promise<ModelServer> {
  return startModelServer(openaiDialect, options);
}

const openaiDialect: Dialect = {
  isModelCall: (method, path) => method === "POST" && path.endsWith("/v1/responses"),
  answerOther: (method, path) =>
    method === "GET" && path.endsWith("/v1/models")
      ? { status: 200, body: { models: [], data: [] } }
      : { status: 404, body: errorBody(404, `no ${method} ${path} here`) }, // GET /responses: no websocket, codex posts
  errorBody,
  readItems,
  readOfferedTools,
  encode,
};

function errorBody(status: number, message: string): JsonObject {
  return {
    error: { message, type: status === 429 ? "rate_limit_error" : "api_error", code: null, param: null },
  };
}

function readItems(body: JsonObject): ConversationItem[] {
  return objectsOf(body.input).flatMap((item): ConversationItem[] => {
    const callId = typeof item.call_id === "string" ? item.call_id : undefined;
    const type = String(item.type ?? "message");
    if (type.endsWith("_output") && callId !== undefined) {
      const text = textOf(item.output);
      const nested = readCellResults(text).map(
        ([id, value]): ConversationItem => ({ from: "tool", callId: id, text: value }),
      );
      return [{ from: "tool", callId, text }, ...nested];
    }
    if (item.role === "assistant" || type.endsWith("_call") || type === "reasoning") {
      return [{ from: "model", ...(callId === undefined ? {} : { callId }) }];
    }
    // Messages of the user, the developer (hook context) and other agents.
    const texts = objectsOf(item.content).map((part) => textOf([part]));
    if (typeof item.content === "string") texts.push(item.content);
    return texts.map((text): ConversationItem => ({ from: "outside", text }));
  });
}

/** Tools are in `tools`, or, for code-mode models, in an `additional_tools` item of the input; both hold namespaces. */
function readOfferedTools(body: JsonObject): string[] {
  const late = objectsOf(body.input).filter(({ type }) => type === "additional_tools");
  return [body.tools, ...late.map(({ tools }) => tools)].flatMap((tools) => toolNames(tools, ""));
}

function toolNames(tools: Json | undefined, prefix: string): string[] {
  return objectsOf(tools).flatMap((tool): string[] => {
    const name = typeof tool.name === "string" ? tool.name : String(tool.type);
    if (tool.type !== "namespace") return [prefix + name];
    return toolNames(tool.tools, name === "functions" ? "" : `${name}.`);
  });
}

function encode(call: ModelCall): EncodedAnswer {
  const { position, fault, offered } = call;
  const scripted = position !== undefined && offered.length > 0 ? position : undefined;
  const id = `resp_${scripted?.script.mark ?? "side"}_${scripted?.turn ?? 0}`;
  const wait = scripted && pendingWait(scripted, offered);
  if (wait !== undefined) return stream(id, [wait]);
  const step = scripted && stepForTurn(scripted.script.script, scripted.turn)?.step;
  const calls = scripted ? planCalls(scripted.script, scripted.turn) : [];
  const text = step === undefined ? FINAL_TEXT : stepText(step.text, fault);
  const items = scripted ? encodeCalls(calls, scripted, offered) : [];
  if (text !== undefined || items.length === 0) {
    const said = text ?? FINAL_TEXT;
    const content: JsonObject[] = [
      fault?.kind === "refuse" ? { type: "refusal", refusal: said } : { type: "output_text", text: said },
    ];
    items.unshift({ type: "message", role: "assistant", id: `msg_${id}`, content });
  }
  return stream(id, items);
}

function stream(id: string, items: readonly JsonObject[]): EncodedAnswer {
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 20,
  };
  const done = items.map((item) => sse({ type: "response.output_item.done", item }));
  return {
    contentType: "text/event-stream",
    head: sse({ type: "response.created", response: { id } }),
    rest: [...done, sse({ type: "response.completed", response: { id, usage } })].join(""),
  };
}

function sse(event: JsonObject): string {
  return `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
}

function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return objectsOf(content)
    .map((part) => {
      const text = part.text ?? part.encrypted_content;
      return typeof text === "string" ? text : JSON.stringify(part);
    })
    .join("\n");
}
