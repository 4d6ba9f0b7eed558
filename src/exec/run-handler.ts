// Runs one function handler as if it were a command: what it returns is what a command would have printed. Must never
// throw for what a handler does. A handler cannot be killed: a late one is told by its signal and its answer is dropped.

import type { FunctionEntry } from "../declaration/types.ts";
import { cloneJson, isJsonObject } from "../json.ts";
import { messageOf } from "../message-of.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import type { HookExit } from "../profile/verdict.ts";

export interface HandlerResult {
  readonly exit: HookExit;
  readonly stdout: string;
  readonly durationMs: number;
  /** What the handler threw. */
  readonly cause?: unknown;
}

/** Timers may come a little early or late: within this, a timely answer is one. */
const CLOCK_MS = 2;

export async function runHandler({
  handler,
  envelope,
  timeoutMs,
  signal,
}: {
  handler: FunctionEntry["handler"];
  /** The handler gets a copy. */
  envelope: Envelope;
  timeoutMs: number;
  /** Abandons the call. */
  signal?: AbortSignal;
}): Promise<HandlerResult> {
  const startedAt = performance.now();
  const own = createLazySignal();
  const ends: (() => void)[] = [];
  const stopped = new Promise<HookExit>((resolve) => {
    const timer = setTimeout(() => {
      resolve({ kind: "timeout", timeoutMs });
      own.abort(new Error("the handler's deadline has passed"));
    }, timeoutMs);
    const abandon = () => {
      resolve({ kind: "failed", message: "the call was abandoned" });
      own.abort(new Error("the call was abandoned"));
    };
    if (signal?.aborted === true) abandon();
    signal?.addEventListener("abort", abandon, { once: true });
    ends.push(
      () => clearTimeout(timer),
      () => signal?.removeEventListener("abort", abandon),
    );
  });
  try {
    const thrown: { cause?: unknown } = {};
    const outcome = await Promise.race([stopped, callHandler(handler, envelope, own, thrown)]);
    const durationMs = performance.now() - startedAt;
    // One that kept the clock's own turn from coming is late all the same.
    if (typeof outcome === "string" && durationMs > timeoutMs + CLOCK_MS)
      return { exit: { kind: "timeout", timeoutMs }, stdout: "", durationMs };
    if (typeof outcome !== "string") return { exit: outcome, stdout: "", durationMs, ...thrown };
    return { exit: { kind: "exit", code: 0 }, stdout: outcome, durationMs };
  } finally {
    for (const end of ends) end();
  }
}

/** What a command would have printed, or how the handler failed. */
async function callHandler(
  handler: FunctionEntry["handler"],
  envelope: Envelope,
  own: LazySignal,
  thrown: { cause?: unknown },
): Promise<string | HookExit> {
  try {
    if (own.isAborted) return { kind: "failed", message: "the call was abandoned" };
    const answer = await handler(cloneJson(envelope), own.context);
    if (answer === undefined || answer === null) return "";
    if (!isJsonObject(answer)) {
      return {
        kind: "failed",
        message: `the handler returned no object but ${JSON.stringify(answer) ?? typeof answer}`,
      };
    }
    if (!isPlain(answer)) {
      // A Map, a class instance or a Proxy of one would be written as something else than its author sees.
      return { kind: "failed", message: "the handler returned an object that is not a plain one" };
    }
    const written: string | undefined = JSON.stringify(answer);
    if (written === undefined)
      return { kind: "failed", message: "the handler's answer turns itself into no JSON" };
    return written;
  } catch (error) {
    thrown.cause = error;
    return {
      kind: "failed",
      message: `the handler threw: ${messageOf(error)}`,
    };
  }
}

interface LazySignal {
  /** What the handler is given; its signal is made when it is first read, because most handlers never do. */
  readonly context: { readonly signal: AbortSignal };
  readonly isAborted: boolean;
  abort(reason: Error): void;
}

function createLazySignal(): LazySignal {
  let controller: AbortController | undefined;
  let reason: Error | undefined;
  const context = {
    get signal() {
      controller ??= new AbortController();
      if (reason !== undefined && !controller.signal.aborted) controller.abort(reason);
      return controller.signal;
    },
  };
  return {
    context,
    get isAborted() {
      return reason !== undefined;
    },
    abort(given) {
      reason ??= given;
      controller?.abort(reason);
    },
  };
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
