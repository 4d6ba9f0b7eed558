// How a hook ended, in words and by name. Pure.

import type { HookExit } from "./verdict.ts";

/** In words that follow "the guard did not answer: ". */
export function describeExit(exit: HookExit): string {
  switch (exit.kind) {
    case "exit":
      return `exit ${exit.code}`;
    case "signal":
      return `killed by ${exit.signal}`;
    case "answered":
      return "answered";
    case "timeout":
      return `no answer within ${exit.timeoutMs} ms`;
    case "failed":
      return exit.message;
  }
}

/** As receipts have it: `exit 0`, `answered`, `SIGKILL`, `timeout`, `failed`, `not run`. */
export function nameExit(exit: HookExit | undefined): string {
  if (exit === undefined) return "not run";
  if (exit.kind === "exit") return `exit ${exit.code}`;
  return exit.kind === "signal" ? exit.signal : exit.kind;
}
