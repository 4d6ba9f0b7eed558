// The one way a tool of the host runs: hooks, the functions inside of them, the final check, the schema, permission, the tool, and back out.
// Must never run a tool with an input that something before it did not see.

import { HookExecutionError } from "../broker/hook-execution-error.ts";
import { cloneJson, isJsonObject, type Json, type JsonObject } from "../json.ts";
import { isInstance, messageOf } from "../message-of.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { checkContext } from "./check-context.ts";
import { describeCall, fieldsOf } from "./describe-call.ts";
import { heed } from "./heed.ts";
import { deny, fail, feedbackOf, type Passage, type RegisteredTool, take, tellOf } from "./passage.ts";
import {
  type Approver,
  askApprover,
  DEFAULT_APPROVAL_TIMEOUT_MS,
  type PermissionMode,
  type PermissionOptions,
  questionOf,
} from "./permission.ts";
import { type Fired, type HostRuntime, NEVER, NOTHING } from "./runtime.ts";
import { copyJson, describeIssues, type InputCheck } from "./tool-input.ts";
import { responseOf } from "./tool-response.ts";
import type { HostTool, SecurityPre, ToolCallContext, ToolOutcome, ToolPost, ToolPre } from "./tool-types.ts";

/** Calls of calls of calls. */
export const INVOKE_DEPTH_LIMIT = 8;

export interface ToolGateOptions {
  readonly runtime: HostRuntime;
  readonly sessionId: string;
  readonly cwd: string;
  readonly inner: { readonly pre: readonly ToolPre[]; readonly post: readonly ToolPost[] };
  readonly securityPre: SecurityPre | undefined;
  readonly permission: PermissionOptions;
  readonly redact: (text: string) => string;
}

export type Invoke = (name: string, input: unknown, context: ToolCallContext) => Promise<ToolOutcome>;

export function createToolGate(options: ToolGateOptions, tools: ReadonlyMap<string, RegisteredTool>): Invoke {
  const { runtime, inner, permission } = options;
  const destructive = new Set(permission.destructive);
  const { approve, timeoutMs = DEFAULT_APPROVAL_TIMEOUT_MS } = permission;

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
    const { signal = NEVER, cwd = options.cwd, sessionId = options.sessionId } = context;
    const passage: Passage = {
      registered,
      session: runtime.session(sessionId),
      context,
      signal,
      contexts: [],
      blocks: [],
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
        tell(outcome) {
          if (outcome.context !== undefined) passage.contexts.push(outcome.context);
          if (outcome.status !== "denied" && outcome.feedback !== undefined)
            passage.blocks.push(outcome.feedback);
          if (outcome.suppressed) passage.suppressed = true;
        },
      },
    };
    let input: JsonObject;
    try {
      const copy = copyJson(given);
      if (!isJsonObject(copy)) throw new TypeError("input is not an object");
      input = copy;
    } catch (error) {
      const message = messageOf(error);
      return deny(passage, "input", message, [{ path: [], message }]);
    }
    if (hasPre(registered.tool)) {
      const judged = await runPre(passage, input);
      if ("refused" in judged) return judged.refused;
      input = judged.input;
    }
    const { check } = registered;
    const checked = check === undefined ? { value: input } : await validate(check, input);
    if ("issues" in checked) return deny(passage, "input", describeIssues(checked.issues), checked.issues);
    // What a schema makes of an input is what runs, so it is what is shown from here on.
    if (checked.value !== input) input = shownInput(checked.value) ?? input;
    if (isAskedAbout(registered.tool, mode)) {
      const refused = await askPermission(passage, input, mode);
      if (refused !== undefined) return refused;
    }
    if (signal.aborted) return fail(tellOf(passage), "aborted", signal.reason);
    return runTool(passage, input, checked.value);
  }

  const hasPre = (tool: HostTool) =>
    runtime.hears("PreToolUse") ||
    inner.pre.length > 0 ||
    options.securityPre !== undefined ||
    tool.pre !== undefined ||
    tool.securityPre !== undefined;

  const isAskedAbout = (tool: HostTool, mode: PermissionMode) =>
    mode !== "ALLOW" && (tool.destructive === true || destructive.has(tool.name));

  /** Hooks, inner functions and the final check, in this order; each sees what the one before it made of the input. */
  async function runPre(
    passage: Passage,
    given: JsonObject,
  ): Promise<{ input: JsonObject } | { refused: ToolOutcome }> {
    const { tool } = passage.registered;
    let input = given;
    if (runtime.hears("PreToolUse")) {
      const fired = await fire("PreToolUse", passage, input);
      const { verdict } = fired;
      take(passage, fired);
      if (verdict.decision === "deny") return { refused: deny(passage, "PreToolUse", verdict.reason) };
      if (verdict.decision === "rewrite") input = verdict.updatedInput;
      passage.granted = verdict.decision === "allow" || (verdict.decision === "rewrite" && verdict.grants);
    }
    for (const pre of [...inner.pre, ...(tool.pre ?? [])]) {
      const answer = await heed(() => pre(cloneJson(input), passage.call));
      if (answer === undefined) continue;
      if ("deny" in answer) return { refused: deny(passage, "inner_pre", answer.deny) };
      // What granted has not seen this input.
      passage.granted = false;
      try {
        input = copyJson(answer.input) as JsonObject;
      } catch (error) {
        return { refused: deny(passage, "inner_pre", messageOf(error)) };
      }
    }
    for (const last of [tool.securityPre, options.securityPre]) {
      const answer =
        last === undefined
          ? undefined
          : await heed<{ deny: string } | { input: JsonObject }>(() => last(cloneJson(input), passage.call));
      if (answer === undefined) continue;
      const isDenial = "deny" in answer;
      const reason = isDenial
        ? answer.deny
        : "the final check answered with an input, and nothing comes after it that would look";
      return { refused: deny(passage, "security_pre", reason) };
    }
    return { input };
  }

  async function askPermission(
    passage: Passage,
    input: JsonObject,
    mode: PermissionMode,
  ): Promise<ToolOutcome | undefined> {
    const { tool } = passage.registered;
    if (mode === "DENY")
      return deny(passage, "permission", `${tool.name} is destructive, and the mode is DENY`);
    const fired = await fire("PermissionRequest", passage, input);
    const { verdict } = fired;
    take(passage, fired);
    if (verdict.decision === "deny") return deny(passage, "permission", verdict.reason);
    if (mode === "AUTO" && (passage.granted || verdict.decision === "allow")) return undefined;
    const reason = `${tool.name} is destructive, and the mode is ${mode}`;
    if (approve === undefined) return deny(passage, "permission", `${reason}; nobody is there to ask`);
    const { sessionId, toolUseId } = passage.call;
    const request = {
      tool: tool.name,
      input: cloneJson(input),
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

  async function runTool(passage: Passage, input: JsonObject, value: unknown): Promise<ToolOutcome> {
    const { tool } = passage.registered;
    // Kept as it was judged: what the tool does to its own copy changes nothing that hooks are shown.
    const ran =
      runtime.hears("PostToolUse") || runtime.hears("PostToolUseFailure") ? cloneJson(input) : input;
    let result: unknown;
    let stage: "run" | "inner_post" = "run";
    try {
      result = await tool.run(value, passage.call);
      stage = "inner_post";
      for (const post of [...(tool.post ?? []), ...inner.post]) {
        const answer: unknown = await post(result, passage.call);
        if (answer === undefined) continue;
        if (!isJsonObject(answer) || !Object.hasOwn(answer, "result"))
          throw new Error("a function behind the tool answered with no result");
        result = answer.result;
      }
    } catch (error) {
      // A hook of a call within asked for exactly this.
      if (isInstance(error, HookExecutionError)) throw error;
      const fired = await fire("PostToolUseFailure", passage, ran, { error: messageOf(error) });
      take(passage, fired);
      return { ...fail(tellOf(passage), stage, error), ...feedbackOf(passage, fired) };
    }
    const fired = runtime.hears("PostToolUse")
      ? await fire("PostToolUse", passage, ran, responseOf(result))
      : NOTHING;
    take(passage, fired);
    return { status: "ok", ...tellOf(passage), input: ran, result, ...feedbackOf(passage, fired) };
  }

  async function fire(
    event: "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionRequest",
    { registered: { tool }, session, context, signal }: Passage,
    input: JsonObject,
    response?: Json,
  ): Promise<Fired> {
    if (!runtime.hears(event)) return NOTHING;
    const isBefore = event === "PreToolUse" || event === "PermissionRequest";
    try {
      return await runtime.fire(event, {
        session,
        cwd: context.cwd,
        // What has happened is told in full, whoever has lost interest since.
        signal: isBefore ? signal : undefined,
        describe: (_envelope, rewritten) => describeCall(tool, rewritten),
        ...(event === "PreToolUse" && approve !== undefined ? { approve: answerAsk(approve, signal) } : {}),
        fields: fieldsOf(tool, input, context, response),
      });
    } catch (error) {
      if (isInstance(error, HookExecutionError)) throw error;
      // The tool's own description of its input threw, or there is no place for the hooks to run in.
      const reason = options.redact(`the hooks of ${event} could not be asked: ${messageOf(error)}`);
      return { verdict: { decision: "deny", reason }, said: {} };
    }
  }

  const answerAsk =
    (approver: Approver, signal: AbortSignal) =>
    ({ entryId, reason, envelope }: { entryId: string; reason: string; envelope: Envelope }) =>
      askApprover(approver, questionOf(envelope, reason, entryId), { timeoutMs, signal });

  return async (name, input, context) => {
    checkContext(context);
    if (runtime.isClosed) return fail({ tool: String(name) }, "aborted", new Error("the host is closed"));
    return runtime.track(() => invoke(name, input, context, 0));
  };
}

/** What can be shown of a schema's output; undefined when it is no JSON. */
function shownInput(value: unknown): JsonObject | undefined {
  try {
    const copy = copyJson(value);
    return isJsonObject(copy) ? copy : undefined;
  } catch {
    return undefined;
  }
}

async function validate(check: InputCheck, input: JsonObject): Promise<Awaited<ReturnType<InputCheck>>> {
  try {
    return await check(input);
  } catch (error) {
    return { issues: [{ path: [], message: `the schema itself failed: ${messageOf(error)}` }] };
  }
}
