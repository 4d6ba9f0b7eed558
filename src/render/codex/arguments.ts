// codex's argv, files and variables for one run. Pure. Value flags use the equals form, so that no value is read as a flag.

import type { HookPlan } from "../../compiler/plan.ts";
import { guardsShell } from "../../compiler/shell-guard.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import type { RenderedFile, RenderedRun, RunContext } from "../provider.ts";
import { SHELL_LEVEL } from "../shell-level.ts";
import { hasSubagents } from "../stricter-forms.ts";
import { hooksOverride, renderHooks } from "./hooks.ts";
import { tomlValue } from "./toml.ts";

interface Flag {
  readonly words: readonly string[];
  readonly why: string;
}

export function materialise(plan: HookPlan, context: RunContext): RenderedRun {
  const { options, providerHome } = context;
  const shared = sharedFlags(plan, context);
  const flags: Flag[] = [
    { words: ["exec"], why: "one turn, no terminal" },
    // First, so that a flag with many values takes neither `resume` nor `-`.
    ...(options.extraArgs ?? []).map((arg) => ({ words: [arg], why: "named by the caller" })),
    { words: ["--json"], why: "events as lines" },
    { words: ["--skip-git-repo-check"], why: "works outside a repository" },
    ...(options.narrowingRules === undefined
      ? [{ words: ["--ignore-rules"], why: "no ambient execpolicy" }]
      : []),
    ...(options.mcpServers === undefined
      ? [{ words: ["--ignore-user-config"], why: "no config.toml is read" }]
      : []),
    // The session file shows which calls were carried out; without keepSession it goes away with the run's home.
    ...(options.keepSession === true || options.resume !== undefined || plan.events.includes("PreToolUse")
      ? []
      : [{ words: ["--ephemeral"], why: "no session is kept" }]),
    ...shared,
    {
      words: [`--sandbox=${options.sandbox ?? "workspace-write"}`],
      why: "codex's own sandbox, always explicit",
    },
    { words: [`--cd=${options.cwd}`], why: "the agent's working directory" },
    ...(options.model === undefined
      ? []
      : [{ words: [`--model=${options.model}`], why: "named by the caller" }]),
    ...(options.addDirs ?? []).map((folder) => ({
      words: [`--add-dir=${folder}`],
      why: "named by the caller",
    })),
    ...(options.resume === undefined
      ? []
      : [{ words: ["resume", options.resume], why: "the session to go on with" }]),
    { words: ["-"], why: "the prompt comes over stdin" },
  ];
  return {
    argv: flags.flatMap(({ words }) => words),
    preflightArgv: ["app-server", ...shared.flatMap(({ words }) => words)],
    files: renderFiles(context),
    env: {
      ...SHELL_LEVEL,
      CODEX_HOME: {
        value: providerHome,
        why: "a home of this run alone: a .env in a home can disarm every hook",
      },
    },
    why: flags.map(({ words, why }) => ({ arg: words.join(" "), why })),
  };
}

/** What exec and the preflight's app-server both get. */
function sharedFlags(plan: HookPlan, { shimPath, projectRoot, options }: RunContext): Flag[] {
  const set = (key: string, value: Json, why: string): Flag => ({
    words: ["-c", `${key}=${tomlValue(value)}`],
    why,
  });
  return [
    { words: ["--strict-config"], why: "an unknown key ends the start instead of being ignored" },
    ...Object.entries(options.providerConfig ?? {}).map(([key, value]) =>
      set(key, value, "named by the caller"),
    ),
    set("hooks", hooksOverride(renderHooks(plan, shimPath)), "our hooks and their trust"),
    set("features.hooks", true, "wins over an ambient switch"),
    set(
      "projects",
      { [projectRoot]: { trust_level: "untrusted" } },
      "the project's own hooks, servers and settings stay off",
    ),
    set("web_search", "disabled", "hosted search never asks a hook"),
    set("notify", [], "no notify program"),
    set("analytics.enabled", false, "nothing is reported; without a network its flush would hold the exit"),
    set("skills.include_instructions", false, "no skill of the user or the project is read"),
    {
      words: ["--enable", "skip_host_skill_discovery"],
      why: "no skill of the user or the project is looked for",
    },
    ...(guardsShell(plan) && options.interactiveShell !== true
      ? [
          {
            words: ["--disable", "unified_exec_tty"],
            why: "what is typed into a terminal asks no hook (X-23, X-49)",
          },
        ]
      : []),
    ...["plugins", "apps", "remote_plugin"].map((feature) => ({
      words: ["--disable", feature],
      why: "may carry hooks or tools of its own",
    })),
    ...(hasSubagents(plan, options)
      ? []
      : [set("agents.enabled", false, "no subagents: named by the caller, or seen to escape the guards")]),
  ];
}

function renderFiles({ options, marker }: RunContext): RenderedFile[] {
  const files: RenderedFile[] = [];
  if (options.instructions !== undefined) {
    files.push({
      path: "home/AGENTS.md",
      content: options.instructions,
      mode: 0o600,
      why: "the text of the project's instructions",
    });
  }
  for (const [name, content] of Object.entries(options.narrowingRules ?? {})) {
    files.push({
      path: `home/rules/${name}`,
      content,
      mode: 0o600,
      why: "an ambient rule file that only narrows is kept",
    });
  }
  if (options.mcpServers !== undefined) {
    const lines = Object.entries(options.mcpServers).map(
      ([name, server]) => `${tomlValue(name)}=${tomlValue(toCodexServer(server, marker))}`,
    );
    files.push({
      path: "home/config.toml",
      content: `[mcp_servers]\n${lines.join("\n")}\n`,
      mode: 0o600,
      why: "admitted MCP servers; secrets stay off argv",
    });
  }
  return files;
}

/** From the shape of `.mcp.json` to codex's: `headers` is `http_headers`; the marker must be handed on, because codex curates the environment. */
function toCodexServer(server: JsonObject, marker: string): JsonObject {
  const { type: _type, headers, ...rest } = server;
  const withHeaders = headers === undefined ? rest : { ...rest, http_headers: headers };
  if (typeof server.command !== "string") return withHeaders;
  return {
    ...withHeaders,
    env: { ...(isJsonObject(server.env) ? server.env : {}), BRIDLE_RUN_MARKER: marker },
  };
}
