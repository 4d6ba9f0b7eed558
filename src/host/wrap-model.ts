// A model call of a program, with hooks before it, behind it and around its failures. Who began the turn is an argument: the prompt of a user
// is announced at the first call that it causes, and at no other.

import { HookExecutionError } from "../broker/hook-execution-error.ts";
import { AgentHooksRefused } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { isInstance, messageOf } from "../message-of.ts";
import type { EventName } from "../profile/events.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { MAX_RETRIES_LIMIT } from "./host-options.ts";
import { type Fired, type HostRuntime, type HostSession, NEVER } from "./runtime.ts";
import { copyJson } from "./tool-input.ts";
import { responseOf } from "./tool-response.ts";
import type { Origin, PromptVerdict } from "./turn-origin.ts";

/** What a model call says of itself. */
export interface ModelCallContext {
  /** What `host.ingress` returned, or `noOrigin`. There is no default: a call that does not say refuses (`token_forged`). */
  readonly origin: Origin;
  /** @default the host's own */
  readonly sessionId?: string;
  /** `model` of envelopes. @default left out */
  readonly model?: string;
  readonly agentId?: string;
  readonly signal?: AbortSignal;
}

/** What the wrapped function is given beside the request. */
export interface ModelTurn {
  /** Of hooks, for the model; empty when `inject` put it into the request. */
  readonly context: readonly string[];
  /** From 1; above it, an `ErrorOccurred` hook asked for a retry. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

export interface WrapModelOptions<Request> {
  /** Puts the hooks' context into a request. @default the wrapped function finds it in `turn.context` */
  readonly inject?: (request: Request, context: readonly string[]) => Request;
  /** `model_request` of envelopes, for requests that hold more than JSON. @default the request, copied */
  readonly encode?: (request: Request) => JsonObject;
  /** The request that a rewritten `model_request` stands for. @default the rewritten object, where the request is plain JSON; else a rewrite is denied */
  readonly decode?: (rewritten: JsonObject, request: Request) => Request;
  /** 0 to 100. @default the host's own */
  readonly maxRetries?: number;
}

/** An error has the same shape as a response: a wrapped call throws only `HookExecutionError`, and refuses without an origin. */
export type ModelOutcome<Response> =
  | {
      readonly status: "ok";
      readonly response: Response;
      readonly attempts: number;
      /** A `PostModelCall` hook blocked: its reason, which the next call is told. */
      readonly feedback?: string;
    }
  | {
      readonly status: "denied";
      readonly stage: "UserPromptSubmit" | "PreModelCall";
      readonly reason: string;
      readonly attempts: number;
    }
  | { readonly status: "failed"; readonly error: unknown; readonly attempts: number };

export type WrappedModel<Request, Response> = (
  request: Request,
  context: ModelCallContext,
) => Promise<ModelOutcome<Response>>;

export interface ModelSeam {
  readonly runtime: HostRuntime;
  readonly sessionId: string;
  readonly maxRetries: number;
  readonly redactor: Redactor;
  /** Announces the turn's prompt, once. */
  readonly consume: (
    origin: Origin,
    turn: { session: HostSession; model: string | undefined; agentId: string | undefined },
  ) => Promise<PromptVerdict>;
}

export function wrapModelCall<Request, Response>(
  seam: ModelSeam,
  call: (request: Request, turn: ModelTurn) => Response | Promise<Response>,
  options: WrapModelOptions<Request>,
): WrappedModel<Request, Response> {
  const { runtime, redactor } = seam;
  const { inject, encode, decode, maxRetries = seam.maxRetries } = options;
  if (typeof call !== "function") throw new TypeError(`wrapModel: expected a function, got ${typeof call}`);
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > MAX_RETRIES_LIMIT)
    throw new TypeError(
      `wrapModel: maxRetries must be an integer from 0 to ${MAX_RETRIES_LIMIT}, got ${String(maxRetries)}`,
    );

  const notAsked = (event: EventName, error: unknown) =>
    redactor.text(`the hooks of ${event} could not be asked: ${messageOf(error)}`);

  /** One attempt up to the model; a denial, or what to call it with. */
  async function prepare(
    request: Request,
    attempt: number,
    shared: Shared,
  ): Promise<{ request: Request; contexts: string[] } | { denied: string }> {
    if (!runtime.hears("PreModelCall")) return { request, contexts: [] };
    let told: EncodedRequest;
    try {
      told = encodeRequest(request, encode);
    } catch (error) {
      return { denied: notAsked("PreModelCall", error) };
    }
    const { encoded, isPlain } = told;
    const { verdict, said } = await fire("PreModelCall", shared, { model_request: encoded, attempt });
    const contexts = said.context === undefined ? [] : [said.context];
    if (verdict.decision === "deny") {
      // This call is not made, so the next one is told.
      shared.session.contexts.push(...contexts);
      return { denied: verdict.reason };
    }
    // What was judged is what is sent, where it can be copied: whoever holds the request may have changed it meanwhile.
    if (verdict.decision !== "rewrite")
      return { request: isPlain ? (encoded as Request) : request, contexts };
    if (decode !== undefined) {
      try {
        return { request: decode(verdict.updatedInput, request), contexts };
      } catch (error) {
        const why = redactor.text(messageOf(error));
        return { denied: `a hook rewrote the request, and decode failed: ${why}` };
      }
    }
    if (isPlain) return { request: verdict.updatedInput as Request, contexts };
    return { denied: "a hook rewrote a request that holds more than JSON; pass decode to wrapModel" };
  }

  const fire = async (
    event: "PreModelCall" | "PostModelCall" | "ErrorOccurred",
    { session, base, signal }: Shared,
    fields: JsonObject,
  ): Promise<Fired> => {
    try {
      return await runtime.fire(event, {
        session,
        signal: event === "PreModelCall" ? signal : undefined,
        fields: { ...base, ...fields },
      });
    } catch (error) {
      if (isInstance(error, HookExecutionError)) throw error;
      // The host was closed meanwhile, or there is no place for the hooks to run in.
      return { verdict: { decision: "deny", reason: notAsked(event, error) }, said: {} };
    }
  };

  const consume = async (origin: Origin, turn: Parameters<ModelSeam["consume"]>[1]) => {
    try {
      return await seam.consume(origin, turn);
    } catch (error) {
      if (isInstance(error, HookExecutionError) || isInstance(error, AgentHooksRefused)) throw error;
      return { decision: "deny", reason: notAsked("UserPromptSubmit", error) } as const;
    }
  };

  const callOnce = async (request: Request, context: ModelCallContext): Promise<ModelOutcome<Response>> => {
    const { origin, sessionId = seam.sessionId, model, agentId, signal = NEVER } = context ?? {};
    const session = runtime.session(sessionId);
    const base: JsonObject = {
      ...(model === undefined ? {} : { model }),
      ...(agentId === undefined ? {} : { agent_id: agentId }),
    };
    const shared: Shared = { session, base, signal };
    const announced = await orAbandoned(consume(origin as Origin, { session, model, agentId }), signal);
    if (announced === undefined) return { status: "failed", error: signal.reason, attempts: 0 };
    if (announced.context !== undefined) session.contexts.push(announced.context);
    if (announced.decision === "deny")
      return { status: "denied", stage: "UserPromptSubmit", reason: announced.reason, attempts: 0 };
    for (let attempt = 1; ; attempt += 1) {
      // Before the hooks of the call, whose chain would carry it past here: then nobody could give it back when the call fails.
      session.contexts.push(...session.chain.contexts.splice(0));
      const prepared = await prepare(request, attempt, shared);
      if ("denied" in prepared)
        return {
          status: "denied",
          stage: "PreModelCall",
          reason: prepared.denied,
          attempts: attempt - 1,
        };
      // Told once: taken when the call is made, and given back when it fails.
      const carried = [...session.contexts.splice(0), ...session.chain.contexts.splice(0)];
      const told = [...carried, ...prepared.contexts].map(redactor.text);
      try {
        signal.throwIfAborted();
        const isInjected = inject !== undefined && told.length > 0;
        const asked = isInjected ? inject(prepared.request, told) : prepared.request;
        const response = await call(asked, { context: isInjected ? [] : told, attempt, signal });
        return await close(response, attempt, shared);
      } catch (error) {
        if (isInstance(error, ClosedByHook)) throw error.cause;
        session.contexts.unshift(...carried);
        if (signal.aborted) return { status: "failed", error, attempts: attempt };
        const { verdict } = await fire("ErrorOccurred", shared, {
          error: describeError(error, redactor),
          attempt,
        });
        const wants = verdict.decision === "none" && verdict.retry === true;
        if (!wants || attempt > maxRetries) return { status: "failed", error, attempts: attempt };
      }
    }
  };

  return async (request, context) => {
    if (runtime.isClosed) return { status: "failed", error: new Error("the host is closed"), attempts: 0 };
    return runtime.track(() => callOnce(request, context));
  };

  async function close(response: Response, attempt: number, shared: Shared): Promise<ModelOutcome<Response>> {
    if (!runtime.hears("PostModelCall")) return { status: "ok", response, attempts: attempt };
    let fired: Fired;
    try {
      fired = await fire("PostModelCall", shared, { model_response: responseOf(response), attempt });
    } catch (cause) {
      throw new ClosedByHook(cause);
    }
    const { verdict, said } = fired;
    if (said.context !== undefined) shared.session.contexts.push(said.context);
    if (verdict.decision !== "deny") return { status: "ok", response, attempts: attempt };
    shared.session.contexts.push(verdict.reason);
    return { status: "ok", response, attempts: attempt, feedback: verdict.reason };
  }
}

interface Shared {
  readonly session: HostSession;
  readonly base: JsonObject;
  readonly signal: AbortSignal;
}

/** The model has answered; what failed then is a hook's own error, and no reason to ask the model again. */
class ClosedByHook extends Error {
  override readonly name = "ClosedByHook";
  constructor(cause: unknown) {
    super("a hook threw behind the model call", { cause });
  }
}

interface EncodedRequest {
  readonly encoded: JsonObject | string | null;
  readonly isPlain: boolean;
}

function encodeRequest<Request>(
  request: Request,
  encode: WrapModelOptions<Request>["encode"],
): EncodedRequest {
  if (encode !== undefined)
    return { encoded: copyJson(encode(request), "model_request") as JsonObject, isPlain: false };
  try {
    const copy = copyJson(request, "model_request");
    if (isJsonObject(copy)) return { encoded: copy, isPlain: true };
  } catch {
    // It holds more than JSON: hooks see what can be told of it.
  }
  return { encoded: responseOf(request) as JsonObject, isPlain: false };
}

function describeError(error: unknown, redactor: Redactor): JsonObject {
  return { name: nameOf(error), message: redactor.text(messageOf(error)) };
}

/** Undefined when nobody waits any more: what others wait for goes on. */
async function orAbandoned<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
  let abandon: () => void = () => {};
  const abandoned = new Promise<undefined>((resolve) => {
    abandon = () => resolve(undefined);
    signal.addEventListener("abort", abandon, { once: true });
    if (signal.aborted) abandon();
  });
  try {
    return await Promise.race([work, abandoned]);
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

function nameOf(error: unknown): string {
  try {
    return error instanceof Error && typeof error.name === "string" ? error.name : "Error";
  } catch {
    return "Error";
  }
}
