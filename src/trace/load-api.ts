// The one place that names @opentelemetry/api, which is an optional peer: whoever traces nothing need not have it.

import { AgentHooksRefused } from "../errors.ts";

export type { Attributes, Context, Span, SpanContext, Tracer } from "@opentelemetry/api";
export type Api = typeof import("@opentelemetry/api");

/** Rejects with AgentHooksRefused `option_invalid` when it is missing. */
export async function loadApi(): Promise<Api> {
  try {
    return await import("@opentelemetry/api");
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
    const message = isMissing ? "@opentelemetry/api is not installed" : "@opentelemetry/api cannot be loaded";
    const hint = "npm install @opentelemetry/api, and an SDK that exports spans";
    throw new AgentHooksRefused([{ code: "option_invalid", path: "trace", message, hint }], { cause });
  }
}
