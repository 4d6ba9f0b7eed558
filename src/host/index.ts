// The public list of agent-bridle/host.

export { HookExecutionError } from "../broker/hook-execution-error.ts";
export { AgentHooksRefused } from "../errors.ts";
export { addContext, ask, deny, retry, rewrite } from "../profile/answer.ts";
export type { Where } from "../profile/where.ts";
export { type CompositeStep, type CompositeTool, compositeTool } from "./adapters/composite.ts";
export { type LspConnection, type LspOptions, lspTools } from "./adapters/lsp.ts";
export { type SubAgentOptions, type SubAgentResult, subAgentTool } from "./adapters/sub-agent.ts";
export { createHookHost, STOP_BLOCK_LIMIT } from "./create-host.ts";
export { describeForModel } from "./describe-for-model.ts";
export { HOST_EVENTS, type HostEventName } from "./host-events.ts";
export type { HostHook } from "./host-hook.ts";
export { compileHostHooks, type HostCompileOptions, HostHooks } from "./host-hooks.ts";
export type { HostFault, HostOptions } from "./host-options.ts";
export type { EventContext, HookHost, HostHookDescription, HostVerdict } from "./host-types.ts";
export { createJsonlStore, type JsonlStore, readJsonlStore } from "./jsonl-store.ts";
export type {
  ApprovalRequest,
  Approver,
  PermissionMode,
  PermissionOptions,
} from "./permission.ts";
export type { FailureMode, HookReceipt, HookRecord, HookType, ReceiptStore } from "./receipt.ts";
export type { ReceiptSink } from "./receipt-writer.ts";
export { ToolFailure } from "./tool-failure.ts";
export { INVOKE_DEPTH_LIMIT } from "./tool-gate.ts";
export type { ValidationIssue } from "./tool-input.ts";
export type {
  DenyStage,
  HostTool,
  SecurityPre,
  StandardSchema,
  ToolCall,
  ToolCallContext,
  ToolOutcome,
  ToolPost,
  ToolPre,
} from "./tool-types.ts";
export type { HostTools, ListedTool } from "./tools.ts";
export { type Ingress, type NoOrigin, noOrigin, type Origin, TurnOrigin } from "./turn-origin.ts";
export type {
  ModelCallContext,
  ModelOutcome,
  ModelTurn,
  WrapModelOptions,
  WrappedModel,
} from "./wrap-model.ts";
