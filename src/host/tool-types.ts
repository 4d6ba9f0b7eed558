// Tools of the in-process host: what is registered, what a call may say, and what comes of it.

import type { z } from "zod";
import type { JsonObject } from "../json.ts";
import type { ToolKind } from "../profile/envelope-types.ts";
import type { PermissionMode } from "./permission.ts";
import type { ValidationIssue } from "./tool-input.ts";

/** What a call says of itself; all of it optional. */
export interface ToolCallContext {
  /** @default the host's own */
  readonly sessionId?: string;
  /** The model's id of the call. */
  readonly toolUseId?: string;
  /** Of a sub-agent; absent for the main one. */
  readonly agentId?: string;
  readonly agentType?: string;
  /** Absolute. @default the host's own */
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  /** @default the host's own */
  readonly permission?: PermissionMode;
}

/** What a tool and the functions around it are told of a call. */
export interface ToolCall {
  readonly tool: string;
  readonly sessionId: string;
  readonly toolUseId?: string;
  readonly agentId?: string;
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Calls another registered tool through the same gate, at most 8 deep. */
  readonly invoke: (name: string, input: JsonObject) => Promise<ToolOutcome>;
  /** Hands on what hooks had to say of a call that this one has made: a note that nobody passes on stops nothing. */
  readonly tell: (outcome: ToolOutcome) => void;
}

/** Inside of the hooks, before the tool. Gets a copy of the input. Throwing denies. */
export type ToolPre = (
  input: JsonObject,
  call: ToolCall,
) => ToolPreAnswer | undefined | Promise<ToolPreAnswer | undefined>;
export type ToolPreAnswer = { readonly input: JsonObject } | { readonly deny: string };

/** Sees the input as it would run, and may say no. It cannot rewrite: nothing comes after it that would look. Throwing denies. */
export type SecurityPre = (
  input: JsonObject,
  call: ToolCall,
) => { readonly deny: string } | undefined | Promise<{ readonly deny: string } | undefined>;

/** Inside of the hooks, after the tool. Throwing withholds the result. */
export type ToolPost = (
  result: unknown,
  call: ToolCall,
) => { readonly result: unknown } | undefined | Promise<{ readonly result: unknown } | undefined>;

export type StandardSchema = Pick<z.ZodType, "~standard">;

/** What a tool with this schema is given. Without a schema that tells, it is the tool's own to say. */
// biome-ignore lint/suspicious/noExplicitAny: a tool may say what it takes, and nobody can hold it to that.
export type ToolInput<Schema> = Schema extends z.ZodType ? z.output<Schema> : any;

// biome-ignore lint/suspicious/noExplicitAny: tools of different schemas stand in one list.
export interface HostTool<Schema extends StandardSchema | JsonObject | undefined = any> {
  /** As the model and matchers know it; tools of MCP servers are `mcp__server__tool`. */
  readonly name: string;
  readonly description?: string;
  /** A zod schema or another Standard Schema (what it makes of the input is what the tool gets), or a JSON Schema. @default any object */
  readonly input?: Schema;
  /** What `list` shows to a model. @default told from `input` */
  readonly inputSchema?: JsonObject;
  readonly run: (input: ToolInput<Schema>, call: ToolCall) => unknown;
  /** `tool_kind` of envelopes. @default told from the name, or `shell` when the input has a `command` */
  readonly kind?: ToolKind;
  /** `tool_command` of envelopes, for tools that keep the command elsewhere than in `command`. */
  readonly command?: (input: JsonObject) => string | undefined;
  /** `tool_paths` of envelopes, for tools that keep paths elsewhere than in `path`, `file_path`, `notebook_path`. */
  readonly paths?: (input: JsonObject) => readonly string[];
  /** It is asked for under `ASK` and `AUTO`, and denied under `DENY`. @default false */
  readonly destructive?: boolean;
  /** Around this tool alone; inside of the host's own. */
  readonly pre?: readonly ToolPre[];
  readonly post?: readonly ToolPost[];
  readonly securityPre?: SecurityPre;
}

/** Where a call was denied. */
export type DenyStage = "PreToolUse" | "inner_pre" | "security_pre" | "input" | "permission";

interface ToolOutcomeBase {
  readonly tool: string;
  /** Of hooks, for the model. */
  readonly context?: string;
  /** A hook said `suppressOutput`: for the model alone, not for whoever watches. */
  readonly suppressed: boolean;
}

/** An error has the same shape as a result: `invoke` throws only `HookExecutionError`. */
export type ToolOutcome<Result = unknown> =
  | (ToolOutcomeBase & {
      readonly status: "ok";
      /** As it ran. */
      readonly input: JsonObject;
      readonly result: Result;
      /** A `PostToolUse` hook blocked: its reason, for the model. */
      readonly feedback?: string;
    })
  | (ToolOutcomeBase & {
      readonly status: "denied";
      readonly stage: DenyStage;
      readonly reason: string;
      /** Of stage `input`. */
      readonly validation?: readonly ValidationIssue[];
    })
  | (ToolOutcomeBase & {
      readonly status: "failed";
      /** `lookup`: no such tool. `aborted`: before it ran. `inner_post`: it ran, and its result is withheld. */
      readonly stage: "lookup" | "aborted" | "run" | "inner_post";
      readonly error: unknown;
      readonly feedback?: string;
    });
