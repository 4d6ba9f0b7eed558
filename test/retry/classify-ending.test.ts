// Texts that the real CLIs printed against a model that failed on purpose, and those of their sources.

import { describe, expect, it } from "vitest";
import { classifyEnding, type Ending, type EndingClass } from "../../src/retry/classify-ending.ts";
import { watchProviderErrors } from "../../src/retry/watch-provider-errors.ts";
import type { AgentEvent } from "../../src/spawn/events.ts";

const NOW = Date.parse("2026-11-30T12:00:30Z");
const TEMPORARY =
  "This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:44389).";

const claude = (finalText: string): Ending => ({ outcome: "failed", reason: "api_error", finalText });
const codex = (reason: string): Ending => ({ outcome: "failed", reason });

it.each<[EndingClass, Ending]>([
  ["success", { outcome: "success", reason: "completed" }],
  ["transient", claude(`API Error: 500 scripted fault. ${TEMPORARY}`)],
  ["transient", claude(`API Error: 529 scripted fault. ${TEMPORARY}`)],
  ["transient", claude("API Error: Request rejected (429) · Rate limit reached.")],
  [
    "transient",
    claude("API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again."),
  ],
  [
    "transient",
    claude("API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)"),
  ],
  ["transient", claude("You've hit your session limit · resets 3pm (UTC)")],
  ["deterministic", claude("API Error: 400 scripted fault")],
  ["deterministic", claude("API Error: 400 the prompt speaks of status 529 and rate limits")],
  ["deterministic", claude("Failed to authenticate. API Error: 401 scripted fault")],
  ["deterministic", claude("You've hit your monthly spend limit.")],
  ["deterministic", { outcome: "failed", reason: "max_turns", finalText: "overloaded" }],
  ["deterministic", { outcome: "failed", reason: "refusal", finalText: "API Error: 529" }],
  ["deterministic", { outcome: "failed", reason: "budget_exhausted" }],
  ["transient", codex("We’re currently experiencing high demand, which may cause temporary errors.")],
  [
    "transient",
    codex("unexpected status 503 Service Unavailable: scripted fault, url: http://127.0.0.1:1/v1/responses"),
  ],
  [
    "transient",
    codex(
      "unexpected status 529 <unknown status code>: scripted fault, url: http://127.0.0.1:1/v1/responses",
    ),
  ],
  ["transient", codex("exceeded retry limit, last status: 429 Too Many Requests")],
  [
    "transient",
    codex(
      "stream disconnected before completion: Transport error: network error: error decoding response body",
    ),
  ],
  [
    "transient",
    codex("stream disconnected before completion: Rate limit reached for o. Please try again in 11.054s."),
  ],
  ["transient", codex("Selected model is at capacity. Please try a different model.")],
  [
    "deterministic",
    codex('{"error":{"message":"scripted fault","type":"api_error","code":null,"param":null}}'),
  ],
  [
    "deterministic",
    codex("unexpected status 401 Unauthorized: scripted fault, url: http://127.0.0.1:1/v1/responses"),
  ],
  ["deterministic", codex("Quota exceeded. Check your plan and billing details.")],
  ["deterministic", codex("spawn_exited_early: exit 1")],
  ["deterministic", codex("killed by SIGKILL")],
  [
    "transient",
    {
      outcome: "timed_out",
      reason: "wall",
      providerError: "Reconnecting... waiting for network (Connection failed: error sending request)",
    },
  ],
  ["deterministic", { outcome: "timed_out", reason: "wall", finalText: "Connection refused" }],
  ["deterministic", { outcome: "incomplete", reason: "output_truncated" }],
  ["deterministic", { outcome: "unenforced", reason: "unasked: overloaded", providerError: "overloaded" }],
  ["deterministic", { outcome: "prompt_blocked", reason: "rate limit" }],
  ["interrupted", { outcome: "interrupted", reason: "bridle stop" }],
  ["lost", { outcome: "lost", reason: "supervisor_gone" }],
  ["refused", { outcome: "refused", reason: "overloaded", refusalCodes: ["command_changed"] }],
  ["refused", { outcome: "refused", reason: "", refusalCodes: ["workspace_busy", "command_changed"] }],
  ["refused", { outcome: "refused", reason: "no code is known" }],
  ["transient", { outcome: "refused", reason: "", refusalCodes: ["capacity_exhausted"] }],
  ["interrupted", { outcome: "refused", reason: "", refusalCodes: ["supervisor_stopping"] }],
])("%s: %j", (expected, ending) => {
  expect(classifyEnding(ending, NOW).class).toBe(expected);
});

describe("the time at which a limit resets", () => {
  it.each<[string, string]>([
    ["Rate limit reached. Please try again in 11.054s.", "2026-11-30T12:00:41.054Z"],
    ["rate limit, try again in 500 ms", "2026-11-30T12:00:30.500Z"],
    ["You've hit your usage limit. Try again in 2 days 3 hours 5 minutes.", "2026-12-02T15:05:30Z"],
    ["Claude AI usage limit reached|1796043600", "2026-11-30T13:00:00Z"],
    ["You've hit your session limit · resets 3pm (UTC)", "2026-11-30T15:00:00Z"],
    ["You've hit your session limit · resets 1:30am (Europe/Berlin)", "2026-12-01T00:30:00Z"],
  ])("%s", (reason, at) => {
    expect(classifyEnding(codex(reason), NOW).retryAt).toBe(Date.parse(at));
  });

  it.each(["rate limit, try again in a moment", "rate limit · resets 3pm (Nowhere/Town)", "rate limit"])(
    "is not guessed: %s",
    (reason) => {
      expect(classifyEnding(codex(reason), NOW)).toEqual({ class: "transient" });
    },
  );

  it("is that of claude's event before that of its words", () => {
    const errors = watchProviderErrors();
    const limit = { status: "rejected", resetsAt: 1796043600, rateLimitType: "five_hour" };
    errors.note(event({ type: "raw", payload: { type: "rate_limit_event", rate_limit_info: limit } }));
    const ending = { ...claude("You've hit your session limit · resets 3pm (UTC)"), ...pick(errors) };
    expect(classifyEnding(ending, NOW).retryAt).toBe(1796043600_000);
  });
});

it("an error that was got over is forgotten", () => {
  const errors = watchProviderErrors();
  errors.note(
    event({ type: "warning", code: "provider_error", message: "Reconnecting... waiting for network" }),
  );
  expect(classifyEnding({ outcome: "timed_out", reason: "idle", ...pick(errors) }).class).toBe("transient");
  errors.note(event({ type: "tool_result", denied: false, isError: false, output: null }));
  expect(classifyEnding({ outcome: "timed_out", reason: "idle", ...pick(errors) }).class).toBe(
    "deterministic",
  );
});

function event(body: object): AgentEvent {
  return { ...body, seq: 0, runId: "r" } as AgentEvent;
}

function pick({ providerError, resetAt }: ReturnType<typeof watchProviderErrors>) {
  return { providerError, resetAt };
}
