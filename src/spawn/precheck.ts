// What is checked again for each run before any process: options, arguments, the provider's binary, the guards' bytes.

import { realpathSync } from "node:fs";
import type { HookPlan } from "../compiler/plan.ts";
import { type Issue, refuseIfAny } from "../errors.ts";
import { missingReferences, placeOfReferences } from "../exec/bind-command.ts";
import type { ProviderAdapter, RunOptions } from "../render/provider.ts";
import { listDifferences } from "../trust/identity.ts";
import { checkSpawnOptions, type SpawnOptions } from "./options.ts";
import { checkOptionShapes } from "./options-schema.ts";

/** Throws `AgentHooksRefused` with every problem, or returns the run's options with a real `cwd`. */
export async function precheckRun(
  plan: HookPlan,
  adapter: ProviderAdapter,
  options: SpawnOptions,
): Promise<RunOptions> {
  refuseIfAny(checkOptionShapes(options));
  const issues = checkSpawnOptions(options);
  if (options.provider !== undefined && options.provider !== plan.provider) {
    const message = `the token was compiled for ${plan.provider}, not ${options.provider}`;
    issues.push({
      code: "provider_mismatch",
      path: "hooks",
      message,
      hint: "compile the declaration for this provider",
    });
  }
  const runOptions = toRunOptions(options);
  issues.push(...adapter.checkOptions(runOptions, passedEnv(options)), ...(await checkBytes(plan)));
  issues.push(...checkReferences(plan, options.baseEnv ?? process.env));
  refuseIfAny(issues);
  return { ...runOptions, cwd: realpathSync.native(options.cwd) };
}

/** The variables a caller adds, by `env` or by name, as the conflict check must see them. */
function passedEnv({ env = {}, passEnv = [], baseEnv = process.env }: SpawnOptions): Record<string, string> {
  return { ...Object.fromEntries(passEnv.map((name) => [name, baseEnv[name] ?? ""])), ...env };
}

/** `placeholder_unset` for each variable that an entry's `env:NAME` wants and the supervisor has not. */
function checkReferences(plan: HookPlan, env: NodeJS.ProcessEnv): Issue[] {
  return plan.entries.flatMap((entry) =>
    missingReferences(entry, env).map((name) => ({
      code: "placeholder_unset" as const,
      path: `${entry.id}.${placeOfReferences(entry)}`,
      message: `env:${name} has no value: the variable ${name} is not set here`,
      hint: "set it where the supervising program is started",
    })),
  );
}

/** `provider_changed` and `command_changed`; called again just before exec. */
export async function checkBytes(plan: HookPlan): Promise<Issue[]> {
  const issues: Issue[] = [];
  const commands = plan.entries.filter((entry) => entry.type === "command");
  const [ofProvider = [], ...ofCommands] = await Promise.all([
    listDifferences([plan.binary.identity, ...plan.binary.companions]),
    ...commands.map(({ files }) => listDifferences(files)),
  ]);
  for (const changed of ofProvider)
    issues.push({ code: "provider_changed", path: "binary", message: changed, hint: "compile again" });
  for (const [index, entry] of commands.entries()) {
    for (const message of ofCommands[index] ?? []) {
      issues.push({
        code: "command_changed",
        path: entry.id,
        message,
        hint: "compile again if the change is yours",
      });
    }
  }
  return issues;
}

/** What of the options the provider's adapter renders. */
const RENDERED_OPTIONS = [
  "model",
  "permissionMode",
  "sandbox",
  "tools",
  "allowedTools",
  "disallowedTools",
  "addDirs",
  "mcpServers",
  "providerConfig",
  "maxTurns",
  "resume",
  "keepSession",
  "extraArgs",
] as const;

function toRunOptions(options: SpawnOptions): RunOptions {
  const given = RENDERED_OPTIONS.filter((name) => options[name] !== undefined).map((name) => [
    name,
    options[name],
  ]);
  return {
    cwd: options.cwd,
    configHome: options.configHome ?? "user",
    subagents: options.admit?.subagents ?? true,
    interactiveShell: options.admit?.interactiveShell ?? false,
    ...Object.fromEntries(given),
  };
}
