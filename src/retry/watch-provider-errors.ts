// Keeps what a run's events say about errors of its provider (C-53, C-54, X-59), for `classifyEnding`. An error that was got over is
// forgotten.

import { isJsonObject } from "../json.ts";
import type { AgentEvent } from "../spawn/events.ts";

export interface ProviderErrors {
  /** To be called with each event of one run. Needs `warning`, `tool_call`, `tool_result` and `raw`. */
  note(event: AgentEvent): void;
  readonly providerError: string | undefined;
  /** Milliseconds since the epoch. */
  readonly resetAt: number | undefined;
}

/** Types of events without which errors are not seen. */
export const ERROR_EVENTS = ["warning", "tool_call", "tool_result", "raw"] as const;

export function watchProviderErrors(): ProviderErrors {
  let providerError: string | undefined;
  let resetAt: number | undefined;
  return {
    note(event) {
      if (event.type === "tool_call" || event.type === "tool_result") {
        // The model was reached again.
        providerError = undefined;
        resetAt = undefined;
      } else if (event.type === "warning") {
        if (event.code === "api_retry" || event.code === "provider_error") providerError = event.message;
      } else if (event.type === "raw" && isJsonObject(event.payload)) {
        const { type, rate_limit_info: limit } = event.payload;
        if (type !== "rate_limit_event" || !isJsonObject(limit)) return;
        const isRejected = limit.status === "rejected";
        resetAt = isRejected && typeof limit.resetsAt === "number" ? limit.resetsAt * 1_000 : undefined;
      }
    },
    get providerError() {
      return providerError;
    },
    get resetAt() {
      return resetAt;
    },
  };
}
