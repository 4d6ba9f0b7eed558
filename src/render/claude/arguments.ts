// claude's argv, files and variables for one run. Pure.

import { join } from "node:path";
import type { HookPlan } from "../../compiler/plan.ts";
import type { RenderedEnv, RenderedFile, RenderedRun, RunContext } from "../provider.ts";
import { SHELL_LEVEL } from "../shell-level.ts";
import { hasSubagents } from "../stricter-forms.ts";
import { renderSettings } from "./settings.ts";

const SETTINGS_FILE = "settings.json";
const MCP_FILE = "mcp.json";
const INSTRUCTIONS_FILE = "instructions.md";

export function materialise(plan: HookPlan, context: RunContext): RenderedRun {
  const { runDir, sessionId, options } = context;
  const files: RenderedFile[] = [
    {
      path: SETTINGS_FILE,
      content: JSON.stringify(renderSettings(plan, context)),
      mode: 0o600,
      why: "carries our hooks in",
    },
  ];
  const why: { arg: string; why: string }[] = [];
  const add = (arg: string, reason: string) => why.push({ arg, why: reason });

  add("--output-format=stream-json", "events as lines");
  add("--input-format=stream-json", "prompt and control channel over stdin");
  add("--verbose", "stream-json needs it");
  add("--include-hook-events", "shows how claude saw each hook end");
  add(
    "--setting-sources=",
    "nothing ambient: no user, project or local settings, hooks, rules, plugins or instructions",
  );
  add("--strict-mcp-config", "no ambient MCP servers");
  add(`--settings=${join(runDir, SETTINGS_FILE)}`, "our hooks; given once, because only the last one counts");
  add(
    `--permission-mode=${options.permissionMode ?? "default"}`,
    "explicit, because the default moved between versions",
  );
  if (options.resume === undefined) add(`--session-id=${sessionId}`, "the run's own session id");
  else add(`--resume=${options.resume}`, "the session to go on with");
  if (options.keepSession !== true && options.resume === undefined)
    add("--no-session-persistence", "no transcript is kept");
  if (options.model !== undefined) add(`--model=${options.model}`, "named by the caller");
  if (options.maxTurns !== undefined) add(`--max-turns=${options.maxTurns}`, "named by the caller");
  if (options.tools !== undefined)
    add(`--tools=${options.tools.join(",")}`, "named by the caller; an empty list is no tool at all");
  for (const [flag, words] of listFlags(plan, options))
    if (words.length > 0) add(`${flag}=${words.join(",")}`, "named by the caller");
  for (const folder of options.addDirs ?? []) add(`--add-dir=${folder}`, "named by the caller");
  if (options.mcpServers !== undefined) {
    files.push({
      path: MCP_FILE,
      content: JSON.stringify({ mcpServers: withMarker(context) }),
      mode: 0o600,
      why: "admitted MCP servers; secrets stay off argv",
    });
    add(`--mcp-config=${join(runDir, MCP_FILE)}`, "admitted MCP servers");
  }
  if (options.instructions !== undefined) {
    files.push({
      path: INSTRUCTIONS_FILE,
      content: options.instructions,
      mode: 0o600,
      why: "the text of the project's instructions",
    });
    add(
      `--append-system-prompt-file=${join(runDir, INSTRUCTIONS_FILE)}`,
      "the project's instructions as text",
    );
  }
  for (const arg of options.extraArgs ?? []) add(arg, "named by the caller");
  return { argv: why.map(({ arg }) => arg), files, env: renderEnv(context), why };
}

/** Both names: older versions offer `Task`, newer ones `Agent`. */
const AGENT_TOOLS = ["Agent", "Task"] as const;

function listFlags(plan: HookPlan, options: RunContext["options"]): [string, readonly string[]][] {
  const { allowedTools = [], disallowedTools = [] } = options;
  const withoutAgents = hasSubagents(plan, options) ? [] : AGENT_TOOLS;
  return [
    ["--allowedTools", allowedTools],
    ["--disallowedTools", [...new Set([...disallowedTools, ...withoutAgents])]],
  ];
}

function withMarker({ options, marker }: RunContext) {
  const servers = Object.entries(options.mcpServers ?? {});
  return Object.fromEntries(
    servers.map(([name, server]) => {
      if (typeof server.command !== "string") return [name, server];
      const env = typeof server.env === "object" && server.env !== null ? server.env : {};
      return [name, { ...server, env: { ...env, BRIDLE_RUN_MARKER: marker } }];
    }),
  );
}

function renderEnv({ providerHome, tmpDir, options }: RunContext): Record<string, RenderedEnv> {
  const env: Record<string, RenderedEnv> = {
    ...SHELL_LEVEL,
    CLAUDE_CODE_TMPDIR: { value: tmpDir, why: "claude's scratch files go away with the run" },
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: { value: "1", why: "no telemetry, no update check" },
    DISABLE_AUTOUPDATER: { value: "1", why: "the binary that was checked is the one that runs" },
    DISABLE_TELEMETRY: { value: "1", why: "an unattended run reports to nobody but its caller" },
  };
  if (options.configHome === "run")
    env.CLAUDE_CONFIG_DIR = { value: providerHome, why: "an empty home for this run" };
  return env;
}
