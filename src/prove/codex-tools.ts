// How codex names and calls its tools: classic function calls, or one JavaScript cell of nested calls in code mode.

import { isJsonObject, type JsonObject } from "../json.ts";
import type { ConversationItem, Position } from "./conversation.ts";
import { callId, type PlannedCall, planCalls, readCallId } from "./script.ts";

/** Line that starts each nested result in a cell's output, so that it can be told apart per call. */
const RESULT_MARK = "model-script-result:";

export function encodeCalls(
  calls: readonly PlannedCall[],
  { script, turn }: Position,
  offered: readonly string[],
): JsonObject[] {
  if (!offered.includes("exec")) return calls.map((call) => directCall(call, offered));
  const nested = calls.filter(({ tool }) => nestedCall(tool) !== undefined);
  const direct = calls.filter((call) => !nested.includes(call)).map((call) => directCall(call, offered));
  if (nested.length === 0) return direct;
  const cell = {
    type: "custom_tool_call",
    name: "exec",
    call_id: callId({ mark: script.mark, turn, part: "cell" }),
    input: cellSource(nested),
  };
  return [cell, ...direct];
}

function directCall({ id, tool, agentPrompt }: PlannedCall, offered: readonly string[]): JsonObject {
  switch (tool.kind) {
    case "shell":
      return functionCall(id, "exec_command", shellInput(tool.command));
    case "write":
      return customCall(id, "apply_patch", addFilePatch(tool.path, tool.content));
    case "edit-patch":
      return customCall(id, "apply_patch", tool.patch);
    case "raw":
      return typeof tool.input === "string"
        ? customCall(id, tool.name, tool.input)
        : functionCall(id, tool.name, tool.input);
    case "agent": {
      const message = agentPrompt ?? tool.prompt;
      return offered.includes("collaboration.spawn_agent")
        ? functionCall(id, "collaboration.spawn_agent", {
            task_name: taskName(id),
            message,
            fork_turns: "none",
          })
        : functionCall(id, "multi_agent_v1.spawn_agent", { message });
    }
  }
}

/** The end mark keeps one name from being the beginning of another. */
function taskName(id: string): string {
  return `${id.toLowerCase().replace(/[^a-z0-9_]/g, "_")}_end`;
}

/** `name` may carry its namespace: `collaboration.spawn_agent`. */
function functionCall(id: string, name: string, input: JsonObject): JsonObject {
  const dot = name.indexOf(".");
  const named: JsonObject =
    dot === -1 ? { name } : { namespace: name.slice(0, dot), name: name.slice(dot + 1) };
  return { type: "function_call", call_id: id, ...named, arguments: JSON.stringify(input) };
}

/** Waits as long as codex allows: a command that yields early would end the step before its result is known. */
function shellInput(command: string): JsonObject {
  return { cmd: command, yield_time_ms: 30_000 };
}

function customCall(id: string, name: string, input: string): JsonObject {
  return { type: "custom_tool_call", call_id: id, name, input };
}

export function addFilePatch(path: string, content: string): string {
  const lines = content.replace(/\n$/, "").split("\n");
  return [
    "*** Begin Patch",
    `*** Add File: ${path}`,
    ...lines.map((line) => `+${line}`),
    "*** End Patch",
  ].join("\n");
}

/** The JavaScript argument and name of a call that code mode nests; undefined for one that stays a direct call. */
function nestedCall(tool: PlannedCall["tool"]): { name: string; input: JsonObject | string } | undefined {
  switch (tool.kind) {
    case "shell":
      return { name: "exec_command", input: shellInput(tool.command) };
    case "write":
      return { name: "apply_patch", input: addFilePatch(tool.path, tool.content) };
    case "edit-patch":
      return { name: "apply_patch", input: tool.patch };
    case "raw":
      return tool.name.includes(".") || tool.name === "exec"
        ? undefined
        : { name: tool.name, input: tool.input };
    case "agent":
      return undefined;
  }
}

/** One cell for all calls of a step: they run at once, and a denied one does not stop the others. */
function cellSource(calls: readonly PlannedCall[]): string {
  const runs = calls.map(({ id, tool }) => {
    const nested = nestedCall(tool);
    return `run(${JSON.stringify(id)}, () => tools[${JSON.stringify(nested?.name)}](${JSON.stringify(nested?.input)}))`;
  });
  return [
    `// @exec: {"yield_time_ms": 300000, "max_output_tokens": 50000}`,
    `const tell = (id, value) => text(${JSON.stringify(RESULT_MARK)} + JSON.stringify([id, typeof value === "string" ? value : JSON.stringify(value)]));`,
    "const run = async (id, call) => { try { tell(id, await call()); } catch (error) { tell(id, String(error)); } };",
    `await Promise.all([${runs.join(", ")}]);`,
  ].join("\n");
}

/** The nested results in a cell's output, by call id. A result cut short by the CLI is left to the cell's own text. */
export function readCellResults(output: string): [string, string][] {
  return output.split("\n").flatMap((line): [string, string][] => {
    if (!line.startsWith(RESULT_MARK)) return [];
    try {
      const [id, value] = JSON.parse(line.slice(RESULT_MARK.length)) as [string, string];
      return [[String(id), String(value)]];
    } catch {
      return [];
    }
  });
}

/** A wait more than this often means a subagent that never ends: the script goes on without it. */
const MAX_WAITS = 50;

/**
 * codex starts subagents in the background, and the parent's end ends them: the call that waits for those of the last
 * step, undefined when all have reported or none was started (a denied spawn names no agent).
 */
export function pendingWait(
  { script, turn, since }: Position,
  offered: readonly string[],
): JsonObject | undefined {
  const spawned = planCalls(script, turn - 1).flatMap((call) => {
    if (call.agentToken === undefined) return [];
    const at = since.findIndex((item) => item.from === "tool" && item.callId === call.id);
    const agent = at === -1 ? undefined : spawnedAgent((since[at] as { text: string }).text);
    return agent === undefined ? [] : [{ at, agent }];
  });
  const running = spawned.filter(
    ({ at, agent }) => !since.slice(at + 1).some((item) => isReport(item) && item.text.includes(agent)),
  );
  if (running.length === 0) return undefined;
  const waits = since.filter(
    (item) => item.from === "model" && readCallId(item.callId ?? "")?.part.startsWith("wait") === true,
  ).length;
  if (waits >= MAX_WAITS) return undefined;
  const id = callId({ mark: script.mark, turn: turn - 1, part: `wait${waits}` });
  return offered.includes("collaboration.wait_agent")
    ? functionCall(id, "collaboration.wait_agent", { timeout_ms: 10_000 })
    : functionCall(id, "multi_agent_v1.wait_agent", {
        targets: running.map(({ agent }) => agent),
        timeout_ms: 10_000,
      });
}

/** Reports come as the result of a wait (older tools) or as text from outside (newer ones), never as a spawn's result. */
function isReport(item: ConversationItem): item is Exclude<ConversationItem, { from: "model" }> {
  return (
    item.from === "outside" ||
    (item.from === "tool" && readCallId(item.callId)?.part.startsWith("wait") === true)
  );
}

/** `agent_id` of the older tools; `task_name`, a path below the root task, of the newer ones. */
function spawnedAgent(output: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(output);
    if (!isJsonObject(parsed)) return undefined;
    const name = parsed.agent_id ?? parsed.task_name;
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined; // not JSON: the spawn was denied or failed, and the text says so to the model
  }
}
