// What a host offers.

import type { CompiledEntry } from "../compiler/plan.ts";
import type { CompileWarning } from "../compiler/warnings.ts";
import type { JsonObject } from "../json.ts";
import type { EventName } from "../profile/events.ts";
import type { Where } from "../profile/where.ts";
import type { FailureMode } from "./receipt.ts";
import type { HostTools } from "./tools.ts";
import type { Ingress, Origin } from "./turn-origin.ts";
import type { ModelTurn, WrapModelOptions, WrappedModel } from "./wrap-model.ts";

/** Of an event that is about no tool and no model call. */
export interface EventContext {
  /** @default the host's own */
  readonly sessionId?: string;
  readonly agentId?: string;
  readonly agentType?: string;
  readonly signal?: AbortSignal;
}

export interface HostVerdict {
  /** `deny` on `Stop` and `SubagentStop`: the agent is to go on, for `reason`. */
  readonly decision: "none" | "deny";
  readonly reason?: string;
  /** For the model. */
  readonly context?: string;
  readonly suppressed: boolean;
  /** `Stop` alone: a hook blocked more than 8 times in a row, and is not heeded any more. */
  readonly isLoop?: true;
}

export interface HostHookDescription {
  readonly id: string;
  readonly event: EventName;
  readonly type: CompiledEntry["type"];
  readonly matcher?: string;
  readonly priority: number;
  readonly failureMode: FailureMode;
  readonly timeoutMs: number;
  readonly where?: Where;
  readonly once?: true;
  readonly async?: true;
  readonly persistent?: true;
}

export interface HookHost {
  readonly runId: string;
  readonly sessionId: string;
  readonly enabled: boolean;
  readonly tools: HostTools;
  /** Hooks of each event in the order in which they run; with `enabled: false` none does. */
  describe(): readonly HostHookDescription[];
  /** What a caller should know of hooks that are fine: those left out because nobody trusts them (told as a fault too), gates in the background. */
  readonly warnings: readonly CompileWarning[];
  /** A way in for a turn. A settled origin is handed on as it is; where nobody has settled it, a user began the turn, and a token is minted. */
  ingress(ingress: Ingress): Origin;
  wrapModel<Request, Response>(
    call: (request: Request, turn: ModelTurn) => Response | Promise<Response>,
    options?: WrapModelOptions<Request>,
  ): WrappedModel<Request, Response>;
  /** For loops that do not use `wrapModel`: to be called before every model call. Announces the prompt of a turn once. */
  runUserPromptSubmit(
    origin: Origin,
    context?: EventContext & { readonly model?: string },
  ): Promise<HostVerdict>;
  /** Its context is given with the next model call too. */
  runSessionStart(fields: { readonly source: string }, context?: EventContext): Promise<HostVerdict>;
  /** Waits for the session's hooks in the background, and forgets the session. */
  runSessionEnd(fields: { readonly reason: string }, context?: EventContext): Promise<HostVerdict>;
  runStop(fields?: JsonObject, context?: EventContext): Promise<HostVerdict>;
  runSubagentStart(fields: { readonly agent_type: string }, context?: EventContext): Promise<HostVerdict>;
  runSubagentStop(fields: { readonly agent_type: string }, context?: EventContext): Promise<HostVerdict>;
  runPreCompact(fields: { readonly trigger: string }, context?: EventContext): Promise<HostVerdict>;
  runPostCompact(fields: { readonly trigger: string }, context?: EventContext): Promise<HostVerdict>;
  runNotification(
    fields: { readonly notification_type: string; readonly message?: string },
    context?: EventContext,
  ): Promise<HostVerdict>;
  /**
   * Lets nothing begin, waits for calls under way, for hooks in the background and for receipts, and closes the store.
   * @throws Error the first error of the receipt store, when it had one
   */
  close(): Promise<void>;
}
