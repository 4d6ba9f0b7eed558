// Who may let a destructive tool run: the mode of the call, the hooks of `PermissionRequest`, and a person. Nobody there, late, or failing
// means no.

import type { JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";

/**
 * Of one call, for tools in the destructive set; others are not asked about. Apart from whatever a session's policy is.
 * - `ALLOW`: no question; hooks may still deny.
 * - `DENY`: denied.
 * - `ASK`: `PermissionRequest` fires, a hook of it may deny; then the approver is asked, always.
 * - `AUTO`: `PermissionRequest` fires; a hook with `grants` may allow, any may deny; undecided, the approver is asked.
 */
export type PermissionMode = "ALLOW" | "DENY" | "ASK" | "AUTO";
export const PERMISSION_MODES: readonly PermissionMode[] = ["ALLOW", "DENY", "ASK", "AUTO"];

export function isPermissionMode(value: unknown): value is PermissionMode {
  return (PERMISSION_MODES as readonly unknown[]).includes(value);
}

/** What a person is asked. */
export interface ApprovalRequest {
  readonly tool: string;
  /** As it would run. */
  readonly input: JsonObject;
  /** Why it is asked: a guard's words, or the mode. */
  readonly reason: string;
  /** The hook that asks; undefined when the mode does. */
  readonly hook?: string;
  readonly sessionId: string;
  readonly toolUseId?: string;
  /** Aborted when the answer comes too late. */
  readonly signal: AbortSignal;
}

/** Only `true` is a yes. */
export type Approver = (request: ApprovalRequest) => boolean | Promise<boolean>;

export interface PermissionOptions {
  /** Of calls that name none. @default "AUTO" */
  mode?: PermissionMode;
  /** Names of tools, beside those registered as `destructive`. */
  destructive?: readonly string[];
  /** @default nobody is there: what would be asked is denied */
  approve?: Approver;
  /** Milliseconds until silence is a no. @default 60_000 */
  timeoutMs?: number;
}

export const DEFAULT_APPROVAL_TIMEOUT_MS = 60_000;

/**
 * Asks, and takes silence, an error and anything but `true` for a no.
 * @throws Error that says why no answer came.
 */
export async function askApprover(
  approve: Approver,
  request: Omit<ApprovalRequest, "signal">,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  signal?.throwIfAborted();
  const own = new AbortController();
  const ends: (() => void)[] = [];
  const ended = new Promise<never>((_resolve, reject) => {
    const end = (message: string) => {
      const error = new Error(message);
      reject(error);
      own.abort(error);
    };
    const timer = setTimeout(() => end(`nobody answered within ${timeoutMs} ms`), timeoutMs);
    const abandon = () => end("the call was abandoned");
    signal?.addEventListener("abort", abandon, { once: true });
    ends.push(
      () => clearTimeout(timer),
      () => signal?.removeEventListener("abort", abandon),
    );
  });
  const answer = async () => (await approve({ ...request, signal: own.signal })) === true;
  try {
    return await Promise.race([ended, answer()]);
  } finally {
    for (const end of ends) end();
  }
}

/** The question of a guard that said `ask`. */
export function questionOf(
  { tool_name: tool, tool_input: input, session_id: sessionId, tool_use_id: toolUseId }: Envelope,
  reason: string,
  hook: string,
): Omit<ApprovalRequest, "signal"> {
  return {
    tool: String(tool),
    input: structuredClone(input) as JsonObject,
    reason,
    hook,
    sessionId,
    ...(typeof toolUseId === "string" ? { toolUseId } : {}),
  };
}
