// The HTTP part both model servers share: listen on 127.0.0.1 only, record, apply a fault, close without a wait.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "../json.ts";
import { type ConversationItem, locate, type Position } from "./conversation.ts";
import { type Fault, type IndexedScript, indexScripts, type ModelScripts, stepForTurn } from "./script.ts";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  /** The parsed JSON body; the raw text when it is not JSON; undefined once `keepRequests` newer ones came. */
  body: unknown;
  /** Milliseconds since the server started. */
  readonly at: number;
}

export interface ModelServer extends AsyncDisposable {
  /** Base URL without a path: `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** Model answers asked for, retries and side requests included; token counts and model lists are not. */
  readonly modelCalls: number;
  /** Tool names the CLI offered to the model, namespaces in front: `collaboration.spawn_agent`. */
  offeredTools(): string[];
  /** What the model was told about each tool call, by call id. */
  toolResults(): Map<string, string>;
  /** Every text from outside the model, once each, in order of arrival: prompts, hook context, reminders. */
  userTexts(): string[];
  /** Resolves when the condition holds after some request; rejects after `timeoutMs`. */
  waitFor(condition: (server: ModelServer) => boolean, options?: { timeoutMs?: number }): Promise<void>;
  close(): Promise<void>;
}

export interface ModelServerOptions {
  readonly scripts: ModelScripts;
  /** @default 0, any free port */
  readonly port?: number;
  /** How many request bodies stay in memory. @default 500 */
  readonly keepRequests?: number;
}

/** A whole answer as the provider's stream text, split where a cut or a silence is most telling. */
export interface EncodedAnswer {
  readonly contentType: string;
  readonly head: string;
  readonly rest: string;
}

export interface Dialect {
  /** `model`: a model answer is asked for. Anything else is answered by `answerOther`. */
  readonly isModelCall: (method: string, path: string) => boolean;
  readonly answerOther: (method: string, path: string) => { status: number; body: JsonObject };
  readonly errorBody: (status: number, message: string) => JsonObject;
  readonly readItems: (body: JsonObject) => ConversationItem[];
  readonly readOfferedTools: (body: JsonObject) => string[];
  readonly encode: (call: ModelCall) => EncodedAnswer;
}

export interface ModelCall {
  readonly body: JsonObject;
  readonly position: Position | undefined;
  readonly fault: Fault | undefined;
  readonly offered: readonly string[];
  readonly scripts: ReadonlyMap<string, IndexedScript>;
}

export async function startModelServer(dialect: Dialect, options: ModelServerOptions): Promise<ModelServer> {
  const { keepRequests = 500 } = options;
  const scripts = indexScripts(options.scripts);
  const requests: RecordedRequest[] = [];
  const results = new Map<string, string>();
  const texts = new Set<string>();
  const offered = new Set<string>();
  const faultsServed = new Map<string, number>();
  const listeners = new Set<() => void>();
  const closing = new AbortController();
  const startedAt = performance.now();
  let modelCalls = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await readBody(request);
    const method = request.method ?? "GET";
    const path = request.url ?? "/";
    const body = parseBody(raw);
    requests.push({ method, path, body, at: performance.now() - startedAt });
    const outdated = requests[requests.length - 1 - keepRequests];
    if (outdated !== undefined) outdated.body = undefined;
    if (!dialect.isModelCall(method, path.split("?")[0] ?? path)) {
      const other = dialect.answerOther(method, path.split("?")[0] ?? path);
      return sendJson(response, other.status, other.body);
    }
    if (!isJsonObject(body))
      return sendJson(response, 400, dialect.errorBody(400, "body is not a JSON object"));
    modelCalls += 1;
    const items = dialect.readItems(body);
    for (const item of items) {
      if (item.from === "outside") texts.add(item.text);
      if (item.from === "tool") results.set(item.callId, item.text);
    }
    const offeredNow = dialect.readOfferedTools(body);
    for (const name of offeredNow) offered.add(name);
    const position = locate(items, scripts);
    const fault = dueFault(position, faultsServed);
    for (const listener of [...listeners]) listener();
    if (fault?.kind === "status") {
      return sendJson(
        response,
        fault.status,
        dialect.errorBody(fault.status, fault.message ?? "scripted fault"),
      );
    }
    if (fault?.kind === "hang" && fault.afterStart !== true) return; // close() ends the connection
    await send(
      response,
      dialect.encode({ body, position, fault, offered: offeredNow, scripts }),
      fault,
      closing.signal,
    );
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((cause: unknown) => {
      // The CLI hung up, or the server is closing: nobody is left to be told. Anything else is shown as a 500.
      if (response.destroyed || response.headersSent) response.destroy();
      else sendJson(response, 500, dialect.errorBody(500, String(cause)));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  const model: ModelServer = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get modelCalls() {
      return modelCalls;
    },
    offeredTools: () => [...offered],
    toolResults: () => new Map(results),
    userTexts: () => [...texts],
    waitFor: (condition, { timeoutMs = 10_000 } = {}) =>
      new Promise<void>((resolve, reject) => {
        const check = (): void => {
          if (!condition(model)) return;
          stop();
          resolve();
        };
        const timer = setTimeout(() => {
          stop();
          reject(new Error(`The model server waited ${timeoutMs} ms; ${modelCalls} model calls came.`));
        }, timeoutMs);
        const stop = (): void => {
          clearTimeout(timer);
          listeners.delete(check);
        };
        listeners.add(check);
        check();
      }),
    async close() {
      closing.abort();
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
    [Symbol.asyncDispose]: () => model.close(),
  };
  return model;
}

/** The step's fault, unless it has been served as often as it asked for. */
function dueFault(position: Position | undefined, served: Map<string, number>): Fault | undefined {
  if (position === undefined) return undefined;
  const found = stepForTurn(position.script.script, position.turn);
  const fault = found?.step.fault;
  if (found === undefined || fault === undefined) return undefined;
  if (fault.kind !== "status" || fault.times === undefined) return fault;
  const key = `${position.script.mark}.${found.stepIndex}`;
  const count = served.get(key) ?? 0;
  if (count >= fault.times) return undefined;
  served.set(key, count + 1);
  return fault;
}

async function send(
  response: ServerResponse,
  answer: EncodedAnswer,
  fault: Fault | undefined,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { "content-type": answer.contentType });
  const { head, rest } = answer;
  if (fault?.kind === "hang") {
    response.write(head);
    return;
  }
  if (fault?.kind === "cut") {
    response.write(head + rest.slice(0, Math.floor(rest.length / 2)), () => response.destroy());
    return;
  }
  if (fault?.kind === "drip") {
    const { bytes = 16, intervalMs = 10 } = fault;
    const whole = Buffer.from(head + rest);
    for (let at = 0; at < whole.length && !response.destroyed; at += bytes) {
      response.write(whole.subarray(at, at + bytes));
      await delay(intervalMs, undefined, { signal });
    }
    response.end();
    return;
  }
  response.end(head + rest);
}

function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function parseBody(raw: string): unknown {
  if (raw === "") return undefined;
  try {
    return JSON.parse(raw);
  } catch {
    return raw; // recorded as it came
  }
}

/** The text of one step: the fault's big text first, then its own. */
export function stepText(text: string | undefined, fault: Fault | undefined): string | undefined {
  if (fault?.kind !== "big-text") return text;
  const line = "The quick brown fox jumps over the lazy dog. ";
  const big = line.repeat(Math.ceil(fault.bytes / line.length)).slice(0, fault.bytes);
  return text === undefined ? big : `${big}\n${text}`;
}
