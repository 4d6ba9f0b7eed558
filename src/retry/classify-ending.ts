// Whether an ended run is worth another try, from how it ended and what the provider said last. Pure. Must never call a refusal, a guard's
// denial or a mistake of the caller's passing.

import type { RefusalCode } from "../errors.ts";
import type { TaskOutcome } from "../fanout/record.ts";
import { readResetTime } from "./reset-time.ts";

/**
 * - `transient`: overload, rate limit, network; or this machine had no room. The same run may pass later;
 * - `deterministic`: it would end the same way again, or must not be tried again unseen (`unenforced`, `prompt_blocked`);
 * - `refused`: a check of ours said no; `interrupted`: it was stopped; `lost`: its supervisor died.
 */
export type EndingClass = "success" | "transient" | "deterministic" | "refused" | "interrupted" | "lost";

export interface Ending {
  readonly outcome: TaskOutcome;
  readonly reason: string;
  /** Of the result. claude's holds the words of an API error. */
  readonly finalText?: string | undefined;
  /** The last error that the provider reported and did not get over; see `watchProviderErrors`. */
  readonly providerError?: string | undefined;
  /** When the provider said that a limit resets. Milliseconds since the epoch. */
  readonly resetAt?: number | undefined;
  /** Of a start that was refused. */
  readonly refusalCodes?: readonly RefusalCode[] | undefined;
}

export interface ClassifiedEnding {
  readonly class: EndingClass;
  /** Not before this. Milliseconds since the epoch; there when the provider named its reset time. */
  readonly retryAt?: number;
}

/** Refusals that say how busy this machine is, and nothing about the run. */
const BUSY: ReadonlySet<RefusalCode> = new Set([
  "capacity_exhausted",
  "config_home_busy",
  "queue_full",
  "workspace_busy",
]);

/** @param now milliseconds since the epoch, from which a time like "in 20s" counts. @default Date.now() */
export function classifyEnding(ending: Ending, now: number = Date.now()): ClassifiedEnding {
  const { outcome, reason, refusalCodes = [] } = ending;
  switch (outcome) {
    case "success":
    case "interrupted":
    case "lost":
      return { class: outcome };
    case "refused":
      if (refusalCodes.includes("supervisor_stopping")) return { class: "interrupted" };
      return refusalCodes.length > 0 && refusalCodes.every((code) => BUSY.has(code))
        ? { class: "transient" }
        : { class: "refused" };
    case "skipped":
      return { class: "interrupted" };
    case "unenforced":
    case "prompt_blocked":
      return { class: "deterministic" };
    case "failed":
    case "incomplete":
    case "timed_out": {
      const words = wordsOf(outcome, reason, ending);
      if (!words.some(isPassing)) return { class: "deterministic" };
      const retryAt =
        ending.resetAt ?? words.map((it) => readResetTime(it, now)).find((it) => it !== undefined);
      return { class: "transient", ...(retryAt === undefined ? {} : { retryAt }) };
    }
  }
}

/** What the provider, and not the model, said about this end. */
function wordsOf(outcome: "failed" | "incomplete" | "timed_out", reason: string, ending: Ending): string[] {
  const { finalText, providerError } = ending;
  const said = providerError === undefined ? [] : [providerError];
  // It ended in silence: only an error that was not got over tells why.
  if (outcome !== "failed" || reason.startsWith("spawn_exited_early")) return said;
  // claude puts the words into its final text, and only then is that not the model's (C-53).
  if (reason === "api_error") return finalText === undefined ? said : [finalText];
  return CLAUDE_ENDS.test(reason) ? [] : [reason];
}

/** claude's own names of an end, and ours of a process's. */
const CLAUDE_ENDS = /^(?:refusal|max_turns|budget_exhausted|stop_hook_loop|killed by |exit \d|spawn_failed)/;

/** Behind these words stands the status of the answer (C-53, X-59). */
const STATUS =
  /(?:API Error:|Request rejected \(|unexpected status|last status:|"error_status":)\s*(\d{3})\b/;
/** No time that passes brings money or a plan. */
const UNPAID =
  /quota exceeded|insufficient_quota|billing|out of (?:usage )?credits|credit (?:balance|limit)|spend limit/i;
const OVERLOAD = /overloaded|high demand|high load|at capacity|slow_down|server-side issue/i;
const LIMIT = /rate.?limit|too many requests|(?:hit|reached) your [^.]*limit|usage limit/i;
const NETWORK = new RegExp(
  [
    "ECONN(?:REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|ENETUNREACH|EHOSTUNREACH",
    "stream disconnected|stream closed before|idle timeout waiting for",
    "connection (?:refused|reset|failed|to the API was lost|closed|error)|network error|waiting for network",
    "error sending request|fetch failed|socket hang up|dns error|failed to lookup address",
  ].join("|"),
  "i",
);

function isPassing(words: string): boolean {
  if (UNPAID.test(words)) return false;
  const status = Number(STATUS.exec(words)?.[1] ?? Number.NaN);
  if (!Number.isNaN(status)) return status === 408 || status === 429 || status >= 500;
  return OVERLOAD.test(words) || LIMIT.test(words) || NETWORK.test(words);
}
