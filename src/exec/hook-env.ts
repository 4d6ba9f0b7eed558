// The environment of a hook: an allowlist, so that no credential of the provider and nothing the agent set reaches a guard.

/** Carried by every process of one hook call; what outlives the call is found by it. */
export const HOOK_MARKER = "BRIDLE_HOOK_MARKER";

const KEPT = ["HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME"];

export function buildHookEnv({
  hookPath,
  base,
  projectDir,
  runId,
  entryEnv,
  marker,
}: {
  /** PATH, fixed at compile. */
  hookPath: string;
  base: NodeJS.ProcessEnv;
  projectDir: string;
  runId: string;
  /** The entry's own `env`; may set anything but the names Bridle itself sets last. */
  entryEnv: Readonly<Record<string, string>>;
  marker: string;
}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(base)) {
    if (value !== undefined && (KEPT.includes(name) || name.startsWith("LC_"))) env[name] = value;
  }
  return {
    ...env,
    PATH: hookPath,
    ...entryEnv,
    CLAUDE_PROJECT_DIR: projectDir,
    BRIDLE_RUN_ID: runId,
    [HOOK_MARKER]: marker,
  };
}
