// agent_prompt: decided before any process exists, so that a veto means that none was started (P3).

import { AgentHooksRefused, type Issue } from "../errors.ts";
import { baseEnvelope } from "../profile/envelope.ts";
import type { RunScope } from "./run-scope.ts";

/** Returns the prompt with added context. Throws `prompt_denied`. */
export async function decidePrompt({
  plan,
  options,
  runOptions,
  runtime,
  runId,
  sessionId,
  redactor,
}: RunScope): Promise<string> {
  const context = { provider: plan.provider, sessionId, runId, cwd: runOptions.cwd };
  const envelope = {
    ...baseEnvelope("agent_prompt", context),
    prompt: options.prompt,
    permission_mode: options.permissionMode ?? "default",
    ...(options.model === undefined ? {} : { model: options.model }),
  };
  const signal = options.signal ?? new AbortController().signal;
  const verdict = await runtime.runOwn("agent_prompt", envelope, signal);
  // No run comes of it: what was started in the background must not outlive the refusal.
  if (verdict.decision === "deny" || options.signal?.aborted === true) await runtime.settle();
  options.signal?.throwIfAborted();
  if (verdict.decision === "deny") {
    const issue: Issue = {
      code: "prompt_denied",
      path: "agent_prompt",
      message: redactor.text(verdict.reason),
      hint: "",
    };
    throw new AgentHooksRefused([issue]);
  }
  return verdict.context === undefined ? options.prompt : `${options.prompt}\n\n${verdict.context}`;
}
