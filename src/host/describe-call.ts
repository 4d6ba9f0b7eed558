// What a guard is told of a call beside its input: kind, command, paths. A tool may know better than its name says. Throws what the tool's own
// functions throw.

import { cloneJson, type Json, type JsonObject } from "../json.ts";
import { describeTool, type ToolDescription } from "../profile/tool.ts";
import type { HostTool, ToolCallContext } from "./tool-types.ts";

export function describeCall(tool: HostTool, input: JsonObject): ToolDescription {
  const { tool_kind, tool_command, tool_paths } = describeTool(tool.name, input, undefined, tool.kind);
  const command = tool.command?.(cloneJson(input)) ?? tool_command;
  const paths = tool.paths?.(cloneJson(input)) ?? tool_paths;
  if (command !== undefined && typeof command !== "string")
    throw new TypeError(`command of tool ${tool.name} must answer with a text, got ${typeof command}`);
  if (paths !== undefined && !(Array.isArray(paths) && paths.every((path) => typeof path === "string")))
    throw new TypeError(`paths of tool ${tool.name} must answer with a list of texts, got ${typeof paths}`);
  return {
    tool_kind,
    ...(command === undefined ? {} : { tool_command: command }),
    ...(paths === undefined || paths.length === 0 ? {} : { tool_paths: [...paths] }),
  };
}

/** What an envelope says of a call. Assigned one by one: this is on the way of every guarded call. */
export function fieldsOf(
  tool: HostTool,
  input: JsonObject,
  { toolUseId, agentId, agentType }: ToolCallContext,
  response: Json | undefined,
): JsonObject {
  const { tool_kind, tool_command, tool_paths } = describeCall(tool, input);
  const fields: JsonObject = { tool_name: tool.name, tool_input: input, tool_kind };
  if (tool_command !== undefined) fields.tool_command = tool_command;
  if (tool_paths !== undefined) fields.tool_paths = tool_paths;
  if (toolUseId !== undefined) fields.tool_use_id = toolUseId;
  if (agentId !== undefined) fields.agent_id = agentId;
  if (agentType !== undefined) fields.agent_type = agentType;
  if (response !== undefined) fields.tool_response = response;
  return fields;
}
