// One line of codex's session file (`sessions/…/rollout-….jsonl`) as facts about tool calls. It holds what `--json` does not: call ids,
// denied calls, the calls of subagents and of code-mode cells (docs/providers/codex.md X-46). Pure; never throws for what a line holds.

import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json.ts";

export type SessionFact =
  /** The model asked for a direct call. */
  | {
      readonly kind: "called";
      readonly id: string;
      readonly name: string;
      readonly input: string;
      /** `PreToolUse` is fired for this tool. */
      readonly isGuarded: boolean;
      /** What `write_stdin` types; "" for a mere look. */
      readonly typed?: string;
    }
  /** A direct call has its result. */
  | {
      readonly kind: "returned";
      readonly id: string;
      readonly how: "ran" | "denied" | "refused" | "aborted" | "unknown";
    }
  /** codex carried a call out and it has ended; also inside a code-mode cell and in a subagent. */
  | {
      readonly kind: "ran";
      readonly id: string;
      readonly name: string;
      readonly input: string;
      /** Of a shell command: the whole of it, as it was given to the shell. */
      readonly command?: string;
    };

/** Folder of the session files in a codex home, and how their names end. */
export const SESSION_FILES = { folder: "sessions", suffix: ".jsonl" } as const;

/** Longest summary of a call's input, in UTF-16 units. */
const SUMMARY_MAX = 160;

/** Items that stand for work a PreToolUse guard is asked about. Their ids are the envelope's `tool_use_id` in every mode. */
const WORK: Readonly<Record<string, (item: JsonObject) => Json | undefined>> = {
  CommandExecution: ({ command }) => (Array.isArray(command) ? command.at(-1) : command),
  FileChange: ({ changes }) => (isJsonObject(changes) ? Object.keys(changes) : changes),
  McpToolCall: ({ server, tool, arguments: input }) => [server ?? null, tool ?? null, input ?? null],
};

const SHELL_TOOLS: readonly string[] = ["exec_command", "shell", "shell_command", "local_shell"];

/** A cheap look before the line is parsed: most lines are messages and token counts. */
const OF_INTEREST = /"type":"(?:function_call|custom_tool_call|local_shell_call|item_completed)/;

export function readSessionLine(line: string): SessionFact | undefined {
  if (!OF_INTEREST.test(line)) return undefined;
  const record = parseJsonObject(line);
  const payload = isJsonObject(record?.payload) ? record.payload : undefined;
  if (payload === undefined) return undefined;
  if (record?.type === "event_msg" && payload.type === "item_completed") return readItem(payload.item);
  if (record?.type !== "response_item") return undefined;
  const id = payload.call_id;
  if (typeof id !== "string") return undefined;
  switch (payload.type) {
    case "function_call":
    case "custom_tool_call":
    case "local_shell_call":
      return readCall(id, payload);
    case "function_call_output":
    case "custom_tool_call_output":
      return { kind: "returned", id, how: judgeOutput(payload.output) };
    default:
      return undefined;
  }
}

function readItem(item: Json | undefined): SessionFact | undefined {
  if (!isJsonObject(item) || typeof item.id !== "string" || typeof item.type !== "string") return undefined;
  const inputOf = Object.hasOwn(WORK, item.type) ? WORK[item.type] : undefined;
  // What is typed into a process that runs already is a call of its own, judged by its own record.
  if (inputOf === undefined || item.source === "unified_exec_interaction") return undefined;
  const input = inputOf(item);
  const isCommand = item.type === "CommandExecution" && typeof input === "string";
  return {
    kind: "ran",
    id: item.id,
    name: item.type,
    input: summarise(input),
    ...(isCommand ? { command: input } : {}),
  };
}

function readCall(id: string, payload: JsonObject): SessionFact {
  const { namespace, arguments: args, input, action } = payload;
  const bare = String(payload.name ?? payload.type);
  const space = typeof namespace === "string" ? namespace : "";
  const isGuarded =
    SHELL_TOOLS.includes(bare) ||
    bare === "apply_patch" ||
    payload.type === "local_shell_call" ||
    `${space}${bare}`.startsWith("mcp__");
  const name = space === "" ? bare : `${space}.${bare}`;
  const text = args ?? input ?? action ?? null;
  const fields = typeof text === "string" ? parseJsonObject(text) : undefined;
  const typed = bare === "write_stdin" ? { typed: String(fields?.chars ?? "") } : {};
  return { kind: "called", id, name, input: summarise(fields?.cmd ?? text), isGuarded, ...typed };
}

/**
 * What a call's result says about the call. codex puts a head of its own before everything a tool printed, so a tool cannot
 * pass itself off as refused.
 */
function judgeOutput(output: Json | undefined): "ran" | "denied" | "refused" | "aborted" | "unknown" {
  const first = Array.isArray(output) ? output.find(isJsonObject)?.text : output;
  const text = typeof first === "string" ? first : "";
  // The whole of it: what a tool printed would come with more of a head.
  if (/^Wall time: [\d.]+ seconds\naborted by user$/.test(text)) return "aborted";
  if (/^(?:Chunk ID|Wall time|Exit code):/.test(text)) return "ran";
  if (/^[\w ]{0,40}blocked by PreToolUse hook/.test(text)) return "denied";
  const isRefused =
    /^(?:failed to parse function arguments|unsupported (?:custom tool )?call|apply_patch verification failed|write_stdin failed|TTY execution is disabled|exec_command failed|aborted)/;
  return isRefused.test(text) ? "refused" : "unknown";
}

function summarise(input: Json | undefined): string {
  const text = typeof input === "string" ? input : JSON.stringify(input ?? null);
  return text.length > SUMMARY_MAX ? `${text.slice(0, SUMMARY_MAX)}…` : text;
}
