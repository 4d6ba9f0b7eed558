// @ts-check
// Every way in which a fake provider can misbehave, as data. docs/TESTKIT.md shows this table; a test keeps the two equal.

const BOTH = /** @type {const} */ (["claude", "codex"]);
const CLAUDE = /** @type {const} */ (["claude"]);
const CODEX = /** @type {const} */ (["codex"]);

/** By name. @satisfies {Readonly<Record<string, import("../script-types.ts").SinRow>>} */
export const SINS = /** @type {const} */ ({
  "skip-hook": {
    on: "tool",
    providers: BOTH,
    does: "makes the call without asking a PreToolUse hook",
    bridle: "`unenforced`",
  },
  "ignore-deny": {
    on: "tool",
    providers: BOTH,
    does: "asks, and makes the call although the hook denied it",
    bridle: "`unenforced`",
  },
  "ignore-rewrite": {
    on: "tool",
    providers: BOTH,
    does: "asks, and runs the original input although the hook rewrote it",
    bridle: "not seen: `success`",
  },
  "run-before-asking": {
    on: "tool",
    providers: BOTH,
    does: "makes the call, then asks; codex shows the item before the hook is asked",
    bridle: "codex: `unenforced`. claude: not seen, its stream looks as it should",
  },
  "kill-hook-shell": {
    on: "tool",
    providers: BOTH,
    does: "kills the hook's process group when half of the envelope is written, then goes on as the CLI does for a killed hook",
    bridle: "claude blocks the call itself (`onFailure`); codex runs it: `unenforced`",
  },
  "no-verdict": {
    on: "tool",
    providers: CLAUDE,
    does: "asks, prints a `hook_no_verdict` line in place of the answer and makes the call",
    bridle: "`unenforced`",
  },
  "hook-exit-code": {
    on: "tool",
    providers: CLAUDE,
    value: "code",
    does: "prints a `hook_response` line with this exit code in place of the hook's own",
    bridle: "`unenforced` for every code but 0 and 2",
  },
  "half-line": {
    on: "step",
    providers: BOTH,
    does: "prints half a line and exits 0",
    bridle: "`incomplete`, reason `output_truncated`",
  },
  "garbage-lines": {
    on: "step",
    providers: BOTH,
    does: "prints lines that are no JSON, and JSON of no known type",
    bridle: "`not_json` warnings and `raw` events; the run goes on",
  },
  "flood-stdout": {
    on: "step",
    providers: BOTH,
    value: "megabytes",
    does: "prints that much in lines of 1,000 bytes",
    bridle: "`raw` events; a slow consumer pauses the agent",
  },
  "long-line": {
    on: "step",
    providers: BOTH,
    value: "megabytes",
    does: "says one message of that length, in one line",
    bridle: "a message; above 16 MiB a `line_overflow` warning",
  },
  "flood-stderr": {
    on: "step",
    providers: BOTH,
    value: "megabytes",
    does: "prints that much on stderr",
    bridle: "the last 64 KiB are kept in `stderrTail`",
  },
  "leave-child": {
    on: "step",
    providers: BOTH,
    does: "leaves a process behind in the agent's own group",
    bridle: "ended before `agent_exit`",
  },
  "leave-child-session": {
    on: "step",
    providers: BOTH,
    does: "leaves a process behind in a session of its own (setsid)",
    bridle: "ended before `agent_exit`, found by its marker",
  },
  "leave-child-holding-stdout": {
    on: "step",
    providers: BOTH,
    does: "leaves a process behind that holds the agent's stdout open",
    bridle: "ended after `drainMs`, with a `pipe_held` warning",
  },
  crash: {
    on: "step",
    providers: BOTH,
    value: "signal",
    does: "dies of this signal",
    bridle: "`failed`, reason `killed by …`",
  },
  hang: {
    on: "step",
    providers: BOTH,
    does: "says and does nothing more until it is stopped",
    bridle: "`timed_out` after `idleMs` or `wallMs`, `interrupted` by `stop`",
  },
  "exit-before-prompt": {
    on: "run",
    providers: BOTH,
    value: "code",
    does: "answers the preflight and exits before it reads the prompt",
    bridle: "`failed`, reason `spawn_exited_early: …`; `incomplete` for 0",
  },
  "no-session-start": {
    on: "run",
    providers: BOTH,
    does: "never runs the SessionStart hooks",
    bridle: "not seen",
  },
  "ignore-prompt-block": {
    on: "run",
    providers: BOTH,
    does: "goes on with the turn although a UserPromptSubmit hook blocked the prompt",
    bridle: "`prompt_blocked`; its calls are still guarded",
  },
  "no-result": {
    on: "run",
    providers: BOTH,
    does: "exits 0 without a final message",
    bridle: "`incomplete`",
  },
  "cut-last-line": {
    on: "run",
    providers: BOTH,
    does: "cuts the line of the final message and exits 0",
    bridle: "`incomplete`, reason `output_truncated`",
  },
  "many-results": {
    on: "run",
    providers: BOTH,
    does: "prints three final messages",
    bridle: "the last one counts",
  },
  "fail-turn": {
    on: "run",
    providers: BOTH,
    does: "ends the turn as an API error does, exit 1",
    bridle: "`failed`",
  },
  "exit-code": {
    on: "run",
    providers: BOTH,
    value: "code",
    does: "exits with this code after a good final message",
    bridle: "`failed`, reason `exit … after a final message`",
  },
  "never-exit": {
    on: "run",
    providers: BOTH,
    does: "stays alive after its final message, whatever becomes of stdin",
    bridle: "ended after `lingerMs`: `success`, reason `lingered`",
  },
  "ignore-signals": {
    on: "run",
    providers: BOTH,
    does: "ignores SIGTERM, SIGINT, SIGHUP and a request to interrupt",
    bridle: "SIGKILL to the group after `stopMs`",
  },
  "drop-flag": {
    on: "run",
    providers: BOTH,
    value: "flag",
    does: "does not know this flag, as a newer CLI might: an error on stderr, exit 1 (claude), 2 (codex)",
    bridle: "`attestation_failed` that quotes stderr; codex `failed` for a flag of `exec` alone",
  },
  "strip-settings": {
    on: "run",
    providers: BOTH,
    does: "drops `--settings` (claude) or `-c hooks=…` (codex), as a wrapper would",
    bridle: "refuses: `attestation_failed` (claude), `provider_policy` (codex)",
  },
  "strip-settings-after-preflight": {
    on: "run",
    providers: CODEX,
    does: "drops `-c hooks=…` for `exec`, but not for `app-server`, which the preflight asks",
    bridle: "`unenforced` at the first call; `success` for a run without one",
  },
  "report-version": {
    on: "run",
    providers: BOTH,
    value: "version",
    does: "reports this version once started, another than `--version` said",
    bridle: "not compared: shown as `providerVersion` of the run (claude), not seen (codex)",
  },
  "lie-hooks-missing": {
    on: "run",
    providers: BOTH,
    does: "lists no hooks in the preflight",
    bridle: "refuses: `attestation_failed` (claude), `provider_policy` (codex)",
  },
  "lie-hook-disabled": {
    on: "run",
    providers: BOTH,
    does: "lists the hooks as disabled",
    bridle: "refuses: `attestation_failed`",
  },
  "lie-foreign-hook": {
    on: "run",
    providers: BOTH,
    does: "lists an enabled hook of somebody else",
    bridle: "refuses: `attestation_failed`",
  },
  "lie-silence": {
    on: "run",
    providers: BOTH,
    does: "never answers the preflight",
    bridle: "refuses after `attestMs`: `attestation_failed`",
  },
  "lie-untrusted": {
    on: "run",
    providers: CODEX,
    does: "lists the hooks as untrusted",
    bridle: "refuses: `attestation_failed`",
  },
  "lie-all-disabled": {
    on: "run",
    providers: CLAUDE,
    does: "says that a policy disables all hooks",
    bridle: "refuses: `provider_policy`",
  },
  "lie-settings-errors": {
    on: "run",
    providers: CLAUDE,
    does: "says that the settings have errors",
    bridle: "refuses: `attestation_failed`",
  },
  "lie-other-source": {
    on: "run",
    providers: CLAUDE,
    does: "says that it reads the user's settings too",
    bridle: "refuses: `attestation_failed`",
  },
  "lie-bare-mode": {
    on: "run",
    providers: CLAUDE,
    does: "says that it runs in bare mode",
    bridle: "refuses: `attestation_failed`",
  },
  "lie-no-on-failure": {
    on: "run",
    providers: CLAUDE,
    does: "does not say that it supports `onFailure`",
    bridle: "refuses: `provider_unsupported`",
  },
});

/**
 * True when a list of sins holds a name that takes no value.
 * @param {readonly unknown[] | undefined} sins
 * @param {import("../script-types.ts").SinName} name
 */
export function commits(sins, name) {
  return (sins ?? []).includes(name);
}

/**
 * The value of a sin, or undefined when it is not committed.
 * @param {readonly unknown[] | undefined} sins
 * @param {import("../script-types.ts").SinName} name
 * @returns {any}
 */
export function valueOfSin(sins, name) {
  for (const sin of sins ?? [])
    if (typeof sin === "object" && sin !== null && name in sin) return /** @type {any} */ (sin)[name];
  return undefined;
}
