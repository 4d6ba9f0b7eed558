// Every refusal Bridle can make, as data. The table below is the one list of stable codes; docs and the CLI read it.

/** Stable refusal codes and what each means. A code is never renamed; a new one is added here and nowhere else. */
export const REFUSAL_CODES = {
  declaration_invalid: "the declaration does not have the documented shape",
  event_unknown: "no provider and no profile knows this event name",
  event_unsupported: "the target provider cannot fire this event, or this build has no seam for it",
  matcher_invalid: "the matcher does not compile, or the event has no subject to match",
  command_invalid: "a command must be a non-empty argv list of non-blank strings",
  command_not_found: "the program or a file named in argv does not exist or cannot be executed",
  command_untrusted: "the command, or the project that declares it, is not trusted",
  command_changed: "the bytes of a guard differ from those compiled or trusted",
  placeholder_unset:
    "a placeholder in argv, or a variable that a value of env or headers names, has no value",
  selftest_failed: "a guard does not answer its own self-test as it says",
  handler_type_unsupported: "the handler type is reserved or unknown",
  deadline_invalid: "a timeout is not usable, or the deadlines cannot be nested",
  provider_not_found: "the provider binary was not found",
  provider_unproven: "this binary has no proof and one was required",
  provider_disproven: "the proof of this binary failed",
  provider_policy: "a managed policy disables hooks or adds its own",
  provider_changed: "the provider binary changed after compile",
  provider_unsupported: "this provider binary cannot enforce what was declared",
  provider_mismatch: "the token was compiled for another provider",
  token_forged: "the value is not a token minted by compileAgentHooks",
  token_stale: "the token no longer describes what would run",
  argument_conflict: "a caller's argument or environment variable would undo the isolation",
  option_invalid: "an option has a value that cannot be used",
  resume_mismatch: "the session was recorded under other hooks or another directory",
  run_dir_unsafe: "the run directory would be reachable by the agent or is not ours",
  run_dir_unavailable: "the run directory, or what a run keeps beside it, cannot be made or written",
  receipts_unwritable: "the receipts cannot be opened or written",
  receipts_unreadable: "the receipts cannot be read",
  store_unavailable: "the receipts store, or the driver that it needs, cannot be used",
  run_home_unsafe: "the provider home holds a file that could disarm hooks",
  prompt_denied: "an agent_prompt hook denied the run",
  attestation_failed: "the provider did not show that our hooks, and only ours, are live",
  platform_unsupported: "this platform lacks something a run needs",
  supervisor_stopping: "the supervisor is shutting down",
  queue_full: "as many runs wait as may",
  capacity_exhausted: "file descriptors or memory would run out",
  workspace_busy: "another run is in the same working directory, and one of the two wants it for itself",
  queue_unavailable: "the engine of the job queue cannot be used",
  job_invalid: "a job of the queue does not have the documented shape, or cannot be run on this worker",
  declaration_refused: "the declaration of a job is missing, changed, or not one that this worker accepts",
  config_home_busy: "other starts hold the agent's configuration home",
  fan_out_busy: "another process runs this fan-out",
  fan_out_mismatch: "there is no such fan-out, or it was begun with other tasks",
} as const;

export type RefusalCode = keyof typeof REFUSAL_CODES;

/** One problem. `path` names where: file, event, group and entry index, or option name. */
export interface Issue {
  readonly code: RefusalCode;
  /** For example `hooks.yaml: PreToolUse[0].hooks[1].command`, or `cwd`. */
  readonly path: string;
  /** What was wrong, with the value seen (redacted). */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
}

/**
 * Thrown when any check fails. Carries every issue found, not the first.
 * Before a spawn it means: no process was started and no file was left behind.
 */
export class AgentHooksRefused extends Error {
  override readonly name = "AgentHooksRefused";
  readonly issues: readonly Issue[];
  /** Set when the refusal came after `agent_prompt` had passed, so that `agent_exit` fired with outcome `refused`. */
  readonly runId: string | undefined;

  constructor(issues: readonly Issue[], options: { cause?: unknown; runId?: string } = {}) {
    super(issues.map(formatIssue).join("\n"), options.cause === undefined ? {} : { cause: options.cause });
    this.issues = Object.freeze(issues.map((issue) => Object.freeze({ ...issue })));
    this.runId = options.runId;
  }
}

/** One readable line: `code path: message (hint)`. */
export function formatIssue({ code, path, message, hint }: Issue): string {
  return `${code} ${path}: ${message}${hint === "" ? "" : ` (${hint})`}`;
}

/** Throws `AgentHooksRefused` when there is at least one issue. */
export function refuseIfAny(
  issues: readonly Issue[],
  options: { cause?: unknown; runId?: string } = {},
): void {
  if (issues.length > 0) throw new AgentHooksRefused(issues, options);
}
