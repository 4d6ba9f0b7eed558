// A place in a trace, from and into TRACEPARENT and TRACESTATE (W3C Trace Context), without a propagator: an SDK need not have registered one.

import type { Api, Context, SpanContext } from "./load-api.ts";

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const STATE_MAX = 512;

/** The span that is active in this program, else the one that the environment names, else none. */
export function findParent(
  { context, trace, ROOT_CONTEXT, createTraceState }: Api,
  env: NodeJS.ProcessEnv,
): Context {
  const active = context.active();
  if (trace.getSpanContext(active) !== undefined) return active;
  const given = env.TRACEPARENT ?? "";
  const [, traceId, spanId, flags] = TRACEPARENT.exec(given) ?? [];
  // ff is no version.
  if (traceId === undefined || spanId === undefined || flags === undefined || given.startsWith("ff"))
    return active;
  const state = env.TRACESTATE;
  const parent: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(state === undefined || state === "" ? {} : { traceState: createTraceState(state) }),
  };
  return trace.isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : active;
}

/** None for a span that nobody records and that has no parent. */
export function toVariables({ trace }: Api, span: SpanContext): Record<string, string> {
  if (!trace.isSpanContextValid(span)) return {};
  const { traceId, spanId, traceFlags, traceState } = span;
  const flags = (traceFlags & 0xff).toString(16).padStart(2, "0");
  const state = traceState?.serialize() ?? "";
  return {
    TRACEPARENT: `00-${traceId}-${spanId}-${flags}`,
    ...(state === "" || state.length > STATE_MAX ? {} : { TRACESTATE: state }),
  };
}
