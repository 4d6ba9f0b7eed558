// The one way a tool of the host runs: hooks, the functions inside of them, the final check, the schema, permission, the tool, and back out.
// Must never run a tool with an input that something before it did not see.

import { HookExecutionError } from "../broker/hook-execution-error.ts";
import { AgentHooksRefused } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { describeTool, type ToolDescription } from "../profile/tool.ts";
import type { Verdict } from "../profile/verdict.ts";
import {
  type Approver,
  askApprover,
  DEFAULT_APPROVAL_TIMEOUT_MS,
  isPermissionMode,
  type PermissionMode,
  type PermissionOptions,
  questionOf,
} from "./permission.ts";
import { type HostRuntime, type HostSession, NEVER } from "./runtime.ts";
import { copyJson, createInputCheck, describeIssues, type InputCheck, jsonSchemaOf } from "./tool-input.ts";
import { responseOf } from "./tool-response.ts";
import type {
  DenyStage,
  HostTool,
  SecurityPre,
  ToolCall,
  ToolCallContext,
  ToolOutcome,
  ToolPost,
  ToolPre,
} from "./tool-types.ts";

/** Calls of calls of calls. */
export const INVOKE_DEPTH_LIMIT = 8;

export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  /** For the model; absent when the tool's schema has no JSON form. */
  readonly inputSchema?: JsonObject;
  readonly destructive: boolean;
}

export interface HostTools {
  /** @throws TypeError when the name is taken, or the tool is not what a tool is. */
  register(tool: HostTool): void;
  /** Several at once, in the place of those named: all of it or nothing. */
  registerAll(tools: readonly HostTool[], options?: { readonly replacing?: readonly string[] }): void;
  /** @returns whether there was one */
  unregister(name: string): boolean;
  list(): ListedTool[];
  /**
   * The one way a tool runs. `input` is copied first.
   * @throws HookExecutionError when a hook with `onFailure: "error"` failed; everything else is in the outcome.
   */
  invoke<Result = unknown>(
    name: string,
    input: unknown,
    context?: ToolCallContext,
  ): Promise<ToolOutcome<Result>>;
}

export interface HostToolsOptions {
  readonly runtime: HostRuntime;
  readonly sessionId: string;
  readonly cwd: string;
  readonly inner: { readonly pre: readonly ToolPre[]; readonly post: readonly ToolPost[] };
  readonly securityPre: SecurityPre | undefined;
  readonly permission: PermissionOptions;
}

interface Registered {
  readonly tool: HostTool;
  readonly check: InputCheck;
}

/** A call on its way through the gate. */
interface Passage {
  readonly registered: Registered;
  readonly call: ToolCall;
  readonly session: HostSession;
  readonly context: ToolCallContext;
  readonly signal: AbortSignal;
  readonly contexts: string[];
  suppressed: boolean;
  /** An `allow` that may grant. */
  granted: boolean;
}

export function createHostTools(options: HostToolsOptions): HostTools {
  const { runtime, inner, permission } = options;
  const tools = new Map<string, Registered>();
  const destructive = new Set(permission.destructive);
  const { approve, timeoutMs = DEFAULT_APPROVAL_TIMEOUT_MS } = permission;

  const prepare = (tool: HostTool): Registered => {
    checkTool(tool);
    return { tool, check: createInputCheck(tool) };
  };

  async function invoke(
    name: string,
    given: unknown,
    context: ToolCallContext,
    depth: number,
  ): Promise<ToolOutcome> {
    const registered = tools.get(name);
    if (registered === undefined) {
      const known = [...tools.keys()].join(", ") || "none";
      return fail({ tool: String(name) }, "lookup", new Error(`no tool is named ${name}; known: ${known}`));
    }
    const mode = context.permission ?? permission.mode ?? "AUTO";
    if (!isPermissionMode(mode)) throw invalidMode(mode);
    const { signal = NEVER, cwd = options.cwd, sessionId = options.sessionId } = context;
    const passage: Passage = {
      registered,
      session: runtime.session(sessionId),
      context,
      signal,
      contexts: [],
      suppressed: false,
      granted: false,
      call: {
        tool: name,
        sessionId,
        cwd,
        signal,
        ...(context.toolUseId === undefined ? {} : { toolUseId: context.toolUseId }),
        ...(context.agentId === undefined ? {} : { agentId: context.agentId }),
        invoke: (inside, input) => {
          const { toolUseId: _outer, ...rest } = context;
          if (depth < INVOKE_DEPTH_LIMIT) return invoke(inside, input, rest, depth + 1);
          const error = new Error(`tools call each other more than ${INVOKE_DEPTH_LIMIT} deep`);
          return Promise.resolve(fail({ tool: inside }, "aborted", error));
        },
      },
    };
    let input: JsonObject;
    try {
      const copy = copyJson(given);
      if (!isJsonObject(copy)) throw new TypeError("input is not an object");
      input = copy;
    } catch (error) {
      const { message } = error as Error;
      return deny(passage, "input", message, [{ path: [], message }]);
    }
    const before = await runPre(passage, input);
    if ("status" in before) return before;
    const permitted = await askPermission(passage, before.input, mode);
    if (permitted !== undefined) return permitted;
    if (signal.aborted) return fail(tellOf(passage), "aborted", signal.reason);
    return runTool(passage, before);
  }

  /** Hooks, inner functions, the final check and the schema, in this order; each sees what the one before it made of the input. */
  async function runPre(
    passage: Passage,
    given: JsonObject,
  ): Promise<{ input: JsonObject; value: unknown } | ToolOutcome> {
    const { tool, check } = passage.registered;
    let input = given;
    if (runtime.hears("PreToolUse")) {
      const verdict = await fire("PreToolUse", passage, input, {});
      if (verdict.decision === "deny") return deny(passage, "PreToolUse", verdict.reason);
      if (verdict.decision === "rewrite") input = verdict.updatedInput;
      passage.granted = verdict.decision === "allow" || (verdict.decision === "rewrite" && verdict.grants);
      take(passage, verdict);
    }
    for (const pre of [...inner.pre, ...(tool.pre ?? [])]) {
      const answer = await heed(() => pre(structuredClone(input), passage.call));
      if (answer === undefined) continue;
      if ("deny" in answer) return deny(passage, "inner_pre", answer.deny);
      // What granted has not seen this input.
      passage.granted = false;
      try {
        input = copyJson(answer.input) as JsonObject;
      } catch (error) {
        return deny(passage, "inner_pre", (error as Error).message);
      }
    }
    for (const last of [tool.securityPre, options.securityPre]) {
      const answer =
        last === undefined ? undefined : await heed(() => last(structuredClone(input), passage.call));
      if (answer !== undefined) return deny(passage, "security_pre", answer.deny);
    }
    const checked = await validate(check, input);
    if ("issues" in checked) return deny(passage, "input", describeIssues(checked.issues), checked.issues);
    return { input, value: checked.value };
  }

  async function askPermission(
    passage: Passage,
    input: JsonObject,
    mode: PermissionMode,
  ): Promise<ToolOutcome | undefined> {
    const { tool } = passage.registered;
    if (mode === "ALLOW" || !(tool.destructive === true || destructive.has(tool.name))) return undefined;
    if (mode === "DENY")
      return deny(passage, "permission", `${tool.name} is destructive, and the mode is DENY`);
    const verdict = await fire("PermissionRequest", passage, input, {});
    take(passage, verdict);
    if (verdict.decision === "deny") return deny(passage, "permission", verdict.reason);
    if (mode === "AUTO" && (passage.granted || verdict.decision === "allow")) return undefined;
    const reason = `${tool.name} is destructive, and the mode is ${mode}`;
    if (approve === undefined) return deny(passage, "permission", `${reason}; nobody is there to ask`);
    const { sessionId, toolUseId } = passage.call;
    const request = {
      tool: tool.name,
      input: structuredClone(input),
      reason,
      sessionId,
      ...(toolUseId === undefined ? {} : { toolUseId }),
    };
    try {
      if (await askApprover(approve, request, { timeoutMs, signal: passage.signal })) return undefined;
      return deny(passage, "permission", `${reason}; it was refused`);
    } catch (error) {
      return deny(passage, "permission", `${reason}; ${messageOf(error)}`);
    }
  }

  async function runTool(
    passage: Passage,
    { input, value }: { input: JsonObject; value: unknown },
  ): Promise<ToolOutcome> {
    const { tool } = passage.registered;
    // Kept as it was judged: what the tool does to its own copy changes nothing that hooks are shown.
    const ran =
      runtime.hears("PostToolUse") || runtime.hears("PostToolUseFailure") ? structuredClone(input) : input;
    let result: unknown;
    let stage: "run" | "inner_post" = "run";
    try {
      result = await (tool.run as (input: unknown, call: ToolCall) => unknown)(value, passage.call);
      stage = "inner_post";
      for (const post of [...(tool.post ?? []), ...inner.post]) {
        const answer = await post(result, passage.call);
        if (answer !== undefined) result = answer.result;
      }
    } catch (error) {
      const verdict = await fire("PostToolUseFailure", passage, ran, {
        tool_response: { error: messageOf(error) },
      });
      take(passage, verdict);
      return { ...fail(tellOf(passage), stage, error), ...feedbackOf(verdict) };
    }
    const verdict = runtime.hears("PostToolUse")
      ? await fire("PostToolUse", passage, ran, { tool_response: responseOf(result) })
      : NO_DECISION;
    take(passage, verdict);
    return { status: "ok", ...tellOf(passage), input: ran, result, ...feedbackOf(verdict) };
  }

  async function fire(
    event: "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionRequest",
    { registered: { tool }, session, context, signal }: Passage,
    input: JsonObject,
    fields: JsonObject,
  ): Promise<Verdict> {
    if (!runtime.hears(event)) return NO_DECISION;
    const isBefore = event === "PreToolUse" || event === "PermissionRequest";
    try {
      return await runtime.fire(event, {
        session,
        cwd: context.cwd,
        // What has happened is told in full, whoever has lost interest since.
        signal: isBefore ? signal : undefined,
        describe: (_envelope, rewritten) => describeCall(tool, rewritten),
        ...(event === "PreToolUse" && approve !== undefined ? { approve: answerAsk(approve, signal) } : {}),
        fields: {
          tool_name: tool.name,
          tool_input: input,
          ...(describeCall(tool, input) as unknown as JsonObject),
          ...(context.toolUseId === undefined ? {} : { tool_use_id: context.toolUseId }),
          ...(context.agentId === undefined ? {} : { agent_id: context.agentId }),
          ...(context.agentType === undefined ? {} : { agent_type: context.agentType }),
          ...fields,
        },
      });
    } catch (error) {
      if (error instanceof HookExecutionError) throw error;
      // The tool's own description of its input threw, or there is no place for the hooks to run in.
      return { decision: "deny", reason: `the hooks of ${event} could not be asked: ${messageOf(error)}` };
    }
  }

  function registerAll(several: readonly HostTool[], replacing: readonly string[] = []): void {
    const prepared = several.map(prepare);
    const names = new Set(tools.keys());
    for (const name of replacing) names.delete(name);
    for (const { tool } of prepared) {
      if (names.has(tool.name)) throw new TypeError(`tool ${tool.name} is registered already`);
      names.add(tool.name);
    }
    for (const name of replacing) tools.delete(name);
    for (const one of prepared) tools.set(one.tool.name, one);
  }

  const answerAsk =
    (approver: Approver, signal: AbortSignal) =>
    ({ entryId, reason, envelope }: { entryId: string; reason: string; envelope: Envelope }) =>
      askApprover(approver, questionOf(envelope, reason, entryId), { timeoutMs, signal });

  return {
    register: (tool) => registerAll([tool]),
    registerAll: (several, { replacing = [] } = {}) => registerAll(several, replacing),
    unregister: (name) => tools.delete(name),
    list: () =>
      [...tools.values()].map(({ tool }) => {
        const inputSchema = jsonSchemaOf(tool);
        return {
          name: tool.name,
          ...(tool.description === undefined ? {} : { description: tool.description }),
          ...(inputSchema === undefined ? {} : { inputSchema }),
          destructive: tool.destructive === true || destructive.has(tool.name),
        };
      }),
    invoke: <Result>(name: string, input: unknown, context: ToolCallContext = {}) =>
      invoke(name, input, context, 0) as Promise<ToolOutcome<Result>>,
  };
}

const NO_DECISION: Verdict = Object.freeze({ decision: "none" });

function take(passage: Passage, verdict: Verdict): void {
  if (verdict.decision === "deny") return;
  if (verdict.context !== undefined) passage.contexts.push(verdict.context);
  if (verdict.suppress === true) passage.suppressed = true;
}

function tellOf({ registered: { tool }, contexts, suppressed }: Passage) {
  return {
    tool: tool.name,
    suppressed,
    ...(contexts.length === 0 ? {} : { context: contexts.join("\n\n") }),
  };
}

function deny(
  passage: Passage,
  stage: DenyStage,
  reason: string,
  validation?: Extract<ToolOutcome, { status: "denied" }>["validation"],
): ToolOutcome {
  return {
    status: "denied",
    ...tellOf(passage),
    stage,
    reason,
    ...(validation === undefined ? {} : { validation }),
  };
}

function fail(
  told: { tool: string; suppressed?: boolean; context?: string },
  stage: Extract<ToolOutcome, { status: "failed" }>["stage"],
  error: unknown,
): Extract<ToolOutcome, { status: "failed" }> {
  return { suppressed: false, ...told, status: "failed", stage, error };
}

function feedbackOf(verdict: Verdict): { feedback?: string } {
  return verdict.decision === "deny" ? { feedback: verdict.reason } : {};
}

/** A function inside the gate that throws, or answers with something else, did not clear the call. */
async function heed<Answer extends { deny: string } | { input: JsonObject }>(
  ask: () => Answer | undefined | Promise<Answer | undefined>,
): Promise<Answer | { deny: string } | undefined> {
  try {
    const answer: unknown = await ask();
    if (answer === undefined) return undefined;
    if (isJsonObject(answer) && typeof answer.deny === "string") return { deny: answer.deny };
    if (isJsonObject(answer) && !("deny" in answer) && isJsonObject(answer.input)) return answer as Answer;
    return {
      deny: `a check answered neither with deny nor with input: ${JSON.stringify(answer)?.slice(0, 120)}`,
    };
  } catch (error) {
    return { deny: `a check failed: ${messageOf(error)}` };
  }
}

async function validate(check: InputCheck, input: JsonObject): Promise<Awaited<ReturnType<InputCheck>>> {
  try {
    return await check(input);
  } catch (error) {
    return { issues: [{ path: [], message: `the schema itself failed: ${messageOf(error)}` }] };
  }
}

function describeCall(tool: HostTool, input: JsonObject): ToolDescription {
  const told = describeTool(tool.name, input, undefined);
  const kind = tool.kind ?? told.tool_kind;
  const command = tool.command?.(structuredClone(input)) ?? (kind === "shell" ? commandOf(input) : undefined);
  const paths = tool.paths?.(structuredClone(input)) ?? told.tool_paths;
  return {
    tool_kind: kind,
    ...(command === undefined ? {} : { tool_command: command }),
    ...(paths === undefined || paths.length === 0 ? {} : { tool_paths: [...paths] }),
  };
}

function commandOf({ command }: JsonObject): string | undefined {
  return typeof command === "string" ? command : undefined;
}

function checkTool(tool: HostTool): void {
  const { name, run, kind } = tool ?? {};
  if (typeof name !== "string" || !/^\S+$/.test(name))
    throw new TypeError(`a tool's name must be one word, got ${JSON.stringify(name) ?? typeof name}`);
  if (typeof run !== "function")
    throw new TypeError(`tool ${name}: run must be a function, got ${typeof run}`);
  if (kind !== undefined && !["shell", "read", "edit", "web", "mcp", "agent", "other"].includes(kind))
    throw new TypeError(`tool ${name}: unknown kind ${JSON.stringify(kind)}`);
  for (const list of ["pre", "post"] as const)
    if (tool[list]?.some((one) => typeof one !== "function"))
      throw new TypeError(`tool ${name}: ${list} must be a list of functions`);
}

function invalidMode(mode: unknown): AgentHooksRefused {
  const message = `expected ALLOW, DENY, ASK or AUTO, got ${JSON.stringify(mode) ?? String(mode)}`;
  return new AgentHooksRefused([{ code: "option_invalid", path: "permission", message, hint: "" }]);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
