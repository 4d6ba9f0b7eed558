// Where the profile and the two providers part, as data: what each does, what Bridle does, why, and what shows it.
// docs/PROFILE.md prints this table; a test keeps the two equal.

export interface Divergence {
  readonly id: string;
  readonly subject: string;
  readonly claude: string;
  readonly codex: string;
  readonly bridle: string;
  readonly why: string;
  /** Ids of the matrix cases that show it. */
  readonly shownBy: string;
}

export const DIVERGENCES: readonly Divergence[] = [
  {
    id: "Dv1-1",
    subject: "envelope",
    claude: "its own fields and its own session_id",
    codex: "its own fields; session_id is the root session's",
    bridle:
      "one envelope: session_id, harness, profile and run_id are ours; the provider's id is provider_session_id; the rest passes through",
    why: "one guard must work under both",
    shownBy: "whole-run-in-order, shell-call-fires, subagent-envelope",
  },
  {
    id: "Dv1-2",
    subject: "tool names",
    claude: "Bash, Write, Edit, Task, mcp__server__tool",
    codex: "Bash, apply_patch, spawn_agent, mcp__server__tool",
    bridle:
      "names stay the provider's own; tool_kind, tool_command and tool_paths are added, and matchers may say kind:shell",
    why: "a renamed tool would make other people's guards miss",
    shownBy: "shell-call-fires, edit-call-fires, mcp-call-fires, matcher-of-two-kinds",
  },
  {
    id: "Dv1-3",
    subject: "command form",
    claude: "a shell string, or a program with args",
    codex: "a shell string only",
    bridle: "argv only; a string refuses",
    why: "a shell re-reads what the declaration says",
    shownBy: "refuses-a-command-as-text",
  },
  {
    id: "Dv1-4",
    subject: "timeout on a gate",
    claude: "the call runs, unless onFailure blocks (from 2.1.295)",
    codex: "the call runs",
    bridle: "the call is denied, whatever on_failure says; our deadline ends before the provider's",
    why: "a guard that did not answer did not clear the action",
    shownBy: "guard-hangs, guard-hangs-when-open, prompt-guard-hangs, handler-hangs",
  },
  {
    id: "Dv1-5",
    subject: "failing guard on a gate",
    claude: "crash, missing program, broken or noisy output: the call runs",
    codex: "the same",
    bridle: "denied and quoted; on_failure: open restores the providers' reading for one entry",
    why: "a guard that crashed did not clear the action",
    shownBy:
      "guard-exits-1, guard-exits-126, guard-exits-127, guard-killed, guard-prints-broken-json, guard-prints-noise-first, guard-prints-too-much, open-guard-exits-1, handler-killed",
  },
  {
    id: "Dv1-6",
    subject: "allow",
    claude: "runs a tool that its own permission rules did not allow",
    codex: "grants nothing that was seen, but is needed for a rewrite",
    bridle: "rendered as no decision unless the entry says grants: true",
    why: "a guard narrows; it must not widen",
    shownBy: "allow-does-not-widen, allow-that-grants, rewrite-does-not-widen",
  },
  {
    id: "Dv1-7",
    subject: "model in UserPromptSubmit",
    claude: "not sent",
    codex: "always sent",
    bridle: "present when the provider or the caller named one, else omitted",
    why: "a field that is not known is omitted, never invented",
    shownBy: "prompt-fires, prompt-without-a-model",
  },
  {
    id: "Dv1-8",
    subject: "continue: false",
    claude: "PreToolUse: the pending tool still runs, then the turn ends",
    codex: "PreToolUse: the call runs",
    bridle: "on a gate it denies as a misplaced decision; elsewhere it is logged and ignored",
    why: "the author wanted a stop and neither provider gives one",
    shownBy: "guard-says-continue-false, prompt-guard-says-continue-false",
  },
  {
    id: "Dv1-9",
    subject: "several hooks on one event",
    claude: "parallel; equal command strings run once; the last rewrite to finish wins",
    codex: "parallel; equal handlers run twice; the last rewrite to finish wins",
    bridle:
      "one after another in declaration order, equal ones once; each sees the previous rewrite; the first deny ends the chain",
    why: "a race is not a policy",
    shownBy:
      "hooks-run-one-after-another, equal-hooks-run-once, rewrite-then-see, first-denial-ends-the-chain",
  },
  {
    id: "Dv1-10",
    subject: "Stop that blocks for ever",
    claude: "overridden after 8",
    codex: "no cap: 269 model calls in 6 s were measured",
    bridle: "more than 8 consecutive blocks end the run",
    why: "an endless loop costs money",
    shownBy: "stop-for-ever",
  },
  {
    id: "Dv1-11",
    subject: "failed tool call",
    claude: "PostToolUseFailure",
    codex: "PostToolUse, with no status",
    bridle: "PostToolUseFailure refuses on codex as event_unsupported",
    why: "there is nothing to derive it from",
    shownBy: "failed-call-fires, failed-call-fires-on-codex, refuses-failed-calls-on-codex",
  },
];
