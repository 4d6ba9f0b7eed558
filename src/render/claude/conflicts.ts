// What a caller may not pass to claude (docs/providers/claude.md, flags and environment rows).

import type { Issue } from "../../errors.ts";
import {
  type ArgumentRules,
  CODE_BEFORE_HOOKS,
  checkEnvNames,
  checkExtraArgs,
  checkWords,
} from "../conflicts.ts";
import type { RunOptions } from "../provider.ts";
import { RESERVED_SETTINGS } from "./settings.ts";

const ALLOWED: ArgumentRules["allowed"] = {
  "--append-subagent-system-prompt": "value",
  "--append-system-prompt": "value",
  "--autocompact": "value",
  "--betas": "value",
  "--debug": "optional",
  "--disable-slash-commands": "none",
  "--effort": "value",
  "--exclude-dynamic-system-prompt-sections": "none",
  "--fallback-model": "value",
  "--forward-subagent-text": "none",
  "--include-partial-messages": "none",
  "--json-schema": "value",
  "--max-budget-usd": "value",
  "--max-thinking-tokens": "value",
  "--name": "value",
  "--no-chrome": "none",
  "--permission-prompts": "value",
  "--system-prompt": "value",
  "--system-prompt-file": "value",
  "--system-prompt-snapshot": "value",
  "--task-budget": "value",
  "--thinking": "value",
};

const FORBIDDEN: ArgumentRules["forbidden"] = [
  { flags: ["--bare", "--safe-mode"], why: "drops the hooks given by --settings" },
  { flags: ["--settings", "--managed-settings"], why: "would replace or overrule ours" },
  { flags: ["--setting-sources"], why: "brings ambient settings back" },
  { flags: ["--plugin-dir", "--plugin-dir-no-mcp", "--plugin-url"], why: "loads a plugin's hooks" },
  { flags: ["--agents", "--agent"], why: "may carry hooks of its own" },
  { flags: ["--mcp-config", "--strict-mcp-config"], why: "is rendered from mcpServers" },
  { flags: ["--restricted"], why: "changes what the rendered tools mean" },
  {
    flags: [
      "--session-id",
      "--resume",
      "-r",
      "--continue",
      "-c",
      "--fork-session",
      "--from-pr",
      "--teleport",
      "--remote",
    ],
    why: "chooses the session; use resume",
  },
  {
    flags: ["--permission-mode", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"],
    why: "is set by permissionMode",
  },
  { flags: ["--permission-prompt-tool"], why: "answers for the user outside our hooks" },
  {
    flags: [
      "--output-format",
      "--input-format",
      "--print",
      "-p",
      "--verbose",
      "--include-hook-events",
      "--replay-user-messages",
    ],
    why: "is needed as rendered to watch the run",
  },
  {
    flags: ["--init", "--init-only", "--maintenance", "--worktree", "-w", "--tmux", "--ide", "--chrome"],
    why: "runs or opens something beside the agent",
  },
  {
    flags: [
      "--model",
      "--max-turns",
      "--tools",
      "--allowedTools",
      "--allowed-tools",
      "--disallowedTools",
      "--disallowed-tools",
      "--add-dir",
    ],
    why: "has an option of its own",
  },
  { flags: ["--append-system-prompt-file", "--no-session-persistence"], why: "is rendered from the options" },
  { flags: ["--help", "-h", "--version", "-v"], why: "ends the CLI before it works" },
];

/** CLAUDE_* variables known not to touch hooks, isolation or the shell. */
const ENV_ALLOWED = [
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_MAX_RETRIES",
  "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_VERTEX",
  "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
  "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP",
];
const ENV_FORBIDDEN = new RegExp(`${CODE_BEFORE_HOOKS.source}|^CLAUDE_|^CLAUDECODE$|^AI_AGENT$`);

/** Options of a run that claude does not have. */
export const CODEX_ALONE = ["sandbox"] as const;

export const PERMISSION_MODES: readonly string[] = [
  "acceptEdits",
  "auto",
  "bypassPermissions",
  "default",
  "dontAsk",
  "manual",
  "plan",
];

export function checkOptions(options: RunOptions, extraEnv: Readonly<Record<string, string>>): Issue[] {
  const { permissionMode, sandbox, providerConfig = {}, resume, maxTurns } = options;
  const issues = [
    ...checkWords(options),
    ...checkExtraArgs(options, { allowed: ALLOWED, forbidden: FORBIDDEN }),
    ...checkEnvNames(Object.keys(extraEnv), ENV_FORBIDDEN, ENV_ALLOWED),
  ];
  const invalid = (path: string, message: string, hint: string) =>
    issues.push({ code: "option_invalid", path, message, hint });
  if (permissionMode !== undefined && !PERMISSION_MODES.includes(permissionMode))
    invalid(
      "permissionMode",
      `unknown mode ${JSON.stringify(permissionMode)}`,
      `known: ${PERMISSION_MODES.join(", ")}`,
    );
  if (sandbox !== undefined)
    invalid("sandbox", "is an option of codex", "use permissionMode, tools and allowedTools");
  if (resume !== undefined && !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(resume))
    invalid("resume", `${JSON.stringify(resume)} is not a session id`, "a UUID");
  if (maxTurns !== undefined && !(Number.isInteger(maxTurns) && maxTurns > 0))
    invalid("maxTurns", `expected a positive integer, got ${maxTurns}`, "");
  for (const key of Object.keys(providerConfig)) {
    if (RESERVED_SETTINGS.includes(key))
      issues.push({
        code: "argument_conflict",
        path: `providerConfig.${key}`,
        message: `the setting ${key} could undo the isolation`,
        hint: "leave it out",
      });
  }
  return issues;
}
