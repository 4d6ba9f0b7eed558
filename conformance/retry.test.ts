// What the real CLIs print when their model is overloaded, limits them or is not there, and whether that is called passing.

import { expect, it } from "vitest";
import type { Fault } from "../src/prove/script.ts";
import { classifyEnding } from "../src/retry/classify-ending.ts";
import { watchProviderErrors } from "../src/retry/watch-provider-errors.ts";
import { CLAUDE, CODEX, type Column, runUnguarded } from "./support/harness.ts";

it.each<[string, Column, Fault, string]>([
  ["overloaded", CLAUDE, { kind: "status", status: 529 }, "transient"],
  ["a limit of requests", CLAUDE, { kind: "status", status: 429 }, "transient"],
  ["a mistake in the request", CLAUDE, { kind: "status", status: 400 }, "deterministic"],
  ["overloaded", CODEX, { kind: "status", status: 529 }, "transient"],
  ["a connection that ends", CODEX, { kind: "cut" }, "transient"],
  ["a login that is turned away", CODEX, { kind: "status", status: 401 }, "deterministic"],
])("%s (%o)", async (_name, column, fault, expected) => {
  // claude tries ten times by itself, which takes minutes.
  const env: Record<string, string> = column === CLAUDE ? { CLAUDE_CODE_MAX_RETRIES: "1" } : {};
  const script = () => [{ text: "never said whole", fault }];
  const { result, events } = await runUnguarded({ column, script, options: () => ({ env }) });
  const errors = watchProviderErrors();
  for (const event of events) errors.note(event);
  const { outcome, reason, finalText } = result;
  const { providerError, resetAt } = errors;
  expect(classifyEnding({ outcome, reason, finalText, providerError, resetAt })).toEqual({ class: expected });
});
