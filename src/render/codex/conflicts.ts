// What a caller may not pass to codex (docs/providers/codex.md, flags and environment rows).

import type { Issue } from "../../errors.ts";
import { isJsonObject, type Json } from "../../json.ts";
import { isSecretName } from "../../redaction/patterns.ts";
import {
  ARGUMENT_MAX_BYTES,
  type ArgumentRules,
  CODE_BEFORE_HOOKS,
  checkEnvNames,
  checkExtraArgs,
  checkWords,
} from "../conflicts.ts";
import type { RunOptions } from "../provider.ts";
import { tomlValue } from "./toml.ts";

const ALLOWED: ArgumentRules["allowed"] = {
  "--color": "value",
  "--image": "value",
  "--output-last-message": "value",
  "--output-schema": "value",
};

const FORBIDDEN: ArgumentRules["forbidden"] = [
  { flags: ["--dangerously-bypass-hook-trust"], why: "trusts every ambient hook" },
  {
    flags: [
      "--dangerously-bypass-approvals-and-sandbox",
      "--yolo",
      "--full-auto",
      "--sandbox",
      "-s",
      "--approve-for-me",
      "--ask-for-approval",
      "-a",
    ],
    why: "is set by sandbox",
  },
  { flags: ["--trust"], why: "trusts the project for good" },
  {
    flags: ["--profile", "-p", "--config", "-c"],
    why: "can carry hooks or switch ours off; use providerConfig",
  },
  { flags: ["--enable", "--disable"], why: "can switch hooks off or plugins on" },
  {
    flags: [
      "--ignore-user-config",
      "--ignore-rules",
      "--strict-config",
      "--ephemeral",
      "--json",
      "--experimental-json",
    ],
    why: "is rendered",
  },
  {
    flags: ["--cd", "-C", "--add-dir", "--model", "-m", "--worktree", "-w"],
    why: "has an option of its own",
  },
  {
    flags: ["--remote", "--remote-auth-token-env", "--oss", "--local-provider"],
    why: "runs the agent elsewhere",
  },
  { flags: ["--last", "--all"], why: "chooses the session; use resume" },
  { flags: ["--help", "-h", "--version", "-V"], why: "ends the CLI before it works" },
];

const ENV_FORBIDDEN = new RegExp(`${CODE_BEFORE_HOOKS.source}|^CODEX_`);
const ENV_ALLOWED = ["CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE"];

/** Roots of `-c` keys that a caller may not admit: hooks, trust, layers and features are ours. */
const RESERVED_CONFIG = [
  "hooks",
  "features",
  "projects",
  "notify",
  "web_search",
  "profiles",
  "profile",
  "plugins",
  "marketplaces",
  "apps",
  "bypass_hook_trust",
  "mcp_servers",
  "agents",
  "sandbox_mode",
  "approval_policy",
  "approvals_reviewer",
  "default_permissions",
  "permissions",
  "shell_environment_policy",
  "analytics",
  "skills",
  "tools",
];

/** Options of a run that codex does not have. */
export const CLAUDE_ALONE = [
  "permissionMode",
  "tools",
  "allowedTools",
  "disallowedTools",
  "maxTurns",
] as const;

export const SANDBOXES: readonly string[] = ["read-only", "workspace-write", "danger-full-access"];

export function checkOptions(options: RunOptions, extraEnv: Readonly<Record<string, string>>): Issue[] {
  const { sandbox, providerConfig = {}, resume } = options;
  const issues = [
    ...checkWords(options),
    ...checkExtraArgs(options, { allowed: ALLOWED, forbidden: FORBIDDEN }),
    ...checkEnvNames(Object.keys(extraEnv), ENV_FORBIDDEN, ENV_ALLOWED),
  ];
  const invalid = (path: string, message: string, hint: string) =>
    issues.push({ code: "option_invalid", path, message, hint });
  if (sandbox !== undefined && !SANDBOXES.includes(sandbox))
    invalid("sandbox", `unknown sandbox ${JSON.stringify(sandbox)}`, `known: ${SANDBOXES.join(", ")}`);
  if (resume !== undefined && !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(resume))
    invalid("resume", `${JSON.stringify(resume)} is not a session id`, "a UUID");
  for (const name of CLAUDE_ALONE) {
    if (options[name] !== undefined) invalid(name, "is an option of claude", "codex has sandbox");
  }
  for (const [key, value] of Object.entries(providerConfig)) {
    const root = key.split(".", 1)[0] ?? key;
    if (RESERVED_CONFIG.includes(root)) {
      issues.push({
        code: "argument_conflict",
        path: `providerConfig.${key}`,
        message: `the key ${root} could undo the isolation`,
        hint: "leave it out",
      });
    } else if (namesWritableRoots(key, value)) {
      issues.push({
        code: "argument_conflict",
        path: `providerConfig.${key}`,
        message: "writable_roots would let the agent write where its guards' shim may be",
        hint: "use addDirs",
      });
    } else if (!/^[A-Za-z0-9_.-]+$/.test(key))
      invalid(`providerConfig.${key}`, "is not a config key", "letters, digits, _ - and dots");
    else if (holdsSecret(key, value))
      invalid(
        `providerConfig.${key}`,
        "holds a secret, and -c values are readable in the process list",
        "name a variable instead: env_key, env_http_headers, bearer_token_env_var",
      );
    else if (holdsNull(value))
      invalid(`providerConfig.${key}`, "holds null, which TOML has not", "leave the key out");
    else if (Buffer.byteLength(key) + Buffer.byteLength(tomlValue(value)) > ARGUMENT_MAX_BYTES)
      invalid(`providerConfig.${key}`, "is too long for one argument", `at most ${ARGUMENT_MAX_BYTES} bytes`);
  }
  return issues;
}

function namesWritableRoots(key: string, value: Json): boolean {
  const [root, inner] = key.split(".");
  if (root !== "sandbox_workspace_write") return false;
  return inner === "writable_roots" || (isJsonObject(value) && "writable_roots" in value);
}

function holdsNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === "object" && Object.values(value).some(holdsNull);
}

/** A literal under a secret-looking name, or any literal header. Keys that name a variable are how it is meant to be done. */
function holdsSecret(key: string, value: unknown): boolean {
  const name = key.split(".").at(-1) ?? key;
  if (/^env_|_env_var$|_env$/.test(name)) return false;
  if (name === "http_headers") return true;
  if (typeof value === "string") return isSecretName(name);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([inner, held]) => holdsSecret(inner, held));
}
