// tool_kind, tool_command and tool_paths: one vocabulary so that one guard works under both providers.
// Tool names stay the provider's own (Dv1-2). What cannot be told is left out.

import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { ToolKind } from "./envelope-types.ts";
import type { Provider } from "./events.ts";

export interface ToolDescription {
  tool_kind: ToolKind;
  tool_command?: string;
  tool_paths?: string[];
}

const CLAUDE_KINDS: Readonly<Record<string, ToolKind>> = {
  Bash: "shell",
  PowerShell: "shell",
  Monitor: "shell",
  Read: "read",
  Glob: "read",
  Grep: "read",
  LS: "read",
  NotebookRead: "read",
  Edit: "edit",
  MultiEdit: "edit",
  Write: "edit",
  NotebookEdit: "edit",
  WebFetch: "web",
  WebSearch: "web",
  Task: "agent",
  Agent: "agent",
  Workflow: "agent",
  CronCreate: "agent",
  SendMessage: "agent",
};

const CODEX_KINDS: Readonly<Record<string, ToolKind>> = {
  Bash: "shell",
  apply_patch: "edit",
  view_image: "read",
  web_search: "web",
};

const KINDS = [
  ["claude", CLAUDE_KINDS],
  ["codex", CODEX_KINDS],
] as const;

const PATH_FIELDS = ["file_path", "path", "notebook_path"] as const;
const PATCH_PATH = /^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\r?$/gm;

/** Without a provider the tool is a program's own, and either agent's name for it tells. */
export function toolKind(toolName: string, provider: Provider | undefined): ToolKind {
  if (toolName.startsWith("mcp__")) return "mcp";
  for (const [agent, known] of KINDS)
    if ((provider ?? agent) === agent && Object.hasOwn(known, toolName)) return known[toolName] as ToolKind;
  // codex joins a namespace and a name without a separator (docs/providers/codex.md): `collaborationspawn_agent`.
  if (provider === "codex" && /(?:spawn|wait|close|resume)_agent$/.test(toolName)) return "agent";
  return "other";
}

/** @param known the tool's kind, from whoever knows it better than its name says; what is told of its input follows from it */
export function describeTool(
  toolName: string,
  toolInput: Json,
  provider: Provider | undefined,
  known?: ToolKind,
): ToolDescription {
  const named = toolKind(toolName, provider);
  const input = isJsonObject(toolInput) ? toolInput : {};
  // A tool nobody has told us of that takes a command runs it: a shell guard must be asked.
  const kind = known ?? (named === "other" && typeof input.command === "string" ? "shell" : named);
  const description: ToolDescription = { tool_kind: kind };
  if (kind === "shell" && typeof input.command === "string") description.tool_command = input.command;
  // codex applies a patch that is typed into its shell, so a shell command may name paths too.
  const paths = kind === "edit" || kind === "read" || kind === "shell" ? toolPaths(input) : [];
  if (paths.length > 0) description.tool_paths = paths;
  return description;
}

function toolPaths(input: JsonObject): string[] {
  const paths = PATH_FIELDS.map((field) => input[field]).filter((path) => typeof path === "string");
  if (typeof input.command === "string") {
    for (const match of input.command.matchAll(PATCH_PATH)) paths.push(match[1] as string);
  }
  return [...new Set(paths)];
}
