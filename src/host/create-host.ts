// createHookHost: hooks for a program that runs its own model and tool loop, decided by the same chain as those of a spawned agent.

import { randomUUID } from "node:crypto";
import { isPersistent, programOf } from "../compiler/token.ts";
import { listHookWarnings } from "../compiler/warnings.ts";
import { refuseIfAny } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { EventName } from "../profile/events.ts";
import { entrySecrets } from "../redaction/declared-secrets.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { hostPlanOf } from "./host-hooks.ts";
import { checkHostOptions, DEFAULT_MAX_RETRIES, type HostFault, type HostOptions } from "./host-options.ts";
import type { EventContext, HookHost, HostVerdict } from "./host-types.ts";
import { orderHooks } from "./order-hooks.ts";
import { createHostReceipts } from "./receipt-writer.ts";
import { createHostRuntime, type Fired, failureModeOf, type HostSession } from "./runtime.ts";
import { copyJson } from "./tool-input.ts";
import { createHostTools } from "./tools.ts";
import { consumeOrigin, mintOrigin, type PromptVerdict } from "./turn-origin.ts";
import { type ModelSeam, wrapModelCall } from "./wrap-model.ts";

/** More consecutive `Stop` blocks than this are not passed on (Dv1-10). */
export const STOP_BLOCK_LIMIT = 8;

/**
 * @throws AgentHooksRefused with every issue found: `option_invalid`, `token_forged`, `event_unknown`, `event_unsupported`,
 * `matcher_invalid`, `declaration_invalid`, `placeholder_unset`.
 * @example
 * const host = createHookHost({ hooks: await compileHostHooks(declaration, { cwd }), receipts: createJsonlStore({ path }) });
 * host.tools.register({ name: "Bash", kind: "shell", run: ({ command }) => run(command) });
 * const outcome = await host.tools.invoke("Bash", { command: "rm -rf /" });
 */
export function createHookHost(options: HostOptions = {}): HookHost {
  const issues = checkHostOptions(options);
  refuseIfAny(issues.filter(({ path }) => path === "options"));
  const { env = process.env, runId = randomUUID(), sessionId = randomUUID(), enabled = true } = options;
  const { ownerId = runId, scope, inner = {}, permission = {} } = options;
  const inProcess = Array.isArray(options.inProcess) ? options.inProcess : [];
  const plan = options.hooks === undefined ? undefined : hostPlanOf(options.hooks);
  // Without a usable `env` nothing can be said of what it lacks.
  const ordered = orderHooks(plan?.entries ?? [], inProcess, env ?? {}, issues);
  refuseIfAny(issues);
  const entries = ordered.map(({ entry }) => entry);
  const cwd = options.cwd ?? plan?.projectRoot ?? process.cwd();
  const handed = entries.flatMap((entry) => entrySecrets(entry, env));
  const redactor = createRedactor({ env, values: [...(options.secrets ?? []), ...handed] });
  const tell = (fault: HostFault) => {
    const told = { ...fault, detail: redactor.text(fault.detail) };
    const warn = () => process.emitWarning(`${told.kind}: ${told.detail}`, { type: "BridleHostFault" });
    if (options.onFault === undefined) return warn();
    // Whoever listens must not turn a fault beside a verdict into another verdict.
    try {
      const heard: unknown = options.onFault(told);
      if (heard instanceof Promise) heard.catch(warn);
    } catch {
      warn();
    }
  };
  const receipts = createHostReceipts(options.receipts, redactor, (error) =>
    tell({ kind: "receipts_failed", detail: error.message }),
  );
  const skipped = plan?.skipped ?? [];
  const warnings = listHookWarnings({ entries, skipped });
  for (const { code, message } of skipped)
    tell({ kind: code === "command_changed" ? code : "command_untrusted", detail: `not run: ${message}` });
  const registeredAt = new Date().toISOString();
  for (const { entry, priority } of ordered)
    receipts.register({
      id: entry.id,
      owner_id: ownerId,
      ...(scope === undefined ? {} : { scope }),
      event: entry.event,
      type: entry.type,
      name: programOf(entry),
      ...(entry.matcher === undefined ? {} : { matcher: entry.matcher }),
      priority,
      failure_mode: failureModeOf(entry),
      registered_at: registeredAt,
    });
  const runtime = createHostRuntime({
    entries,
    isEnabled: enabled,
    runId,
    ownerId,
    scope,
    cwd,
    projectRoot: plan?.projectRoot ?? cwd,
    hookPath: plan?.hookPath ?? env.PATH ?? "",
    env,
    receipts,
    redact: redactor.text,
    secrets: handed,
    onChanged: (detail) => tell({ kind: "command_changed", detail }),
    onLeftovers: (detail) => tell({ kind: "guard_leftovers", detail }),
  });
  const tools = createHostTools({
    runtime,
    sessionId,
    cwd,
    inner: { pre: [...(inner.pre ?? [])], post: [...(inner.post ?? [])] },
    securityPre: options.securityPre,
    permission: { ...permission },
    redact: redactor.text,
  });
  const owner = {};
  const seam: ModelSeam = {
    runtime,
    sessionId,
    maxRetries: options.maxRetries ?? DEFAULT_MAX_RETRIES,
    redactor,
    // Without the signal of the call that comes first: the verdict is the turn's, and other calls wait for it.
    consume: (origin, { session, model, agentId }) =>
      consumeOrigin(owner, origin, async (fields) =>
        toPromptVerdict(
          await runtime.fire("UserPromptSubmit", {
            session,
            fields: {
              ...fields,
              ...(model === undefined ? {} : { model }),
              ...(agentId === undefined ? {} : { agent_id: agentId }),
            },
          }),
        ),
      ),
  };
  const tellUndelivered = (contexts: readonly string[]) => {
    if (contexts.length > 0)
      tell({ kind: "context_undelivered", detail: `${contexts.length} contexts of hooks reached no model` });
  };
  const fire = async (event: EventName, fields: object, context: EventContext = {}): Promise<HostVerdict> => {
    if (!runtime.hears(event) && !runtime.isClosed) return NOTHING;
    const { agentId, agentType, signal } = context;
    const firing = {
      session: runtime.session(context.sessionId ?? sessionId),
      signal,
      fields: {
        ...(copyJson(fields, event) as JsonObject),
        ...(agentId === undefined ? {} : { agent_id: agentId }),
        ...(agentType === undefined ? {} : { agent_type: agentType }),
      },
    };
    return toHostVerdict(await runtime.track(() => runtime.fire(event, firing)));
  };

  let closing: Promise<void> | undefined;
  const closeAll = async () => {
    tellUndelivered(await runtime.close());
    const failure = await receipts.close();
    if (failure !== undefined) throw failure;
  };

  return {
    runId,
    sessionId,
    enabled,
    tools,
    describe: () =>
      ordered.map(({ entry, priority }) => ({
        id: entry.id,
        event: entry.event,
        type: entry.type,
        ...(entry.matcher === undefined ? {} : { matcher: entry.matcher }),
        priority,
        failureMode: failureModeOf(entry),
        timeoutMs: entry.timeoutMs,
        ...(entry.where === undefined ? {} : { where: entry.where }),
        ...(entry.once === true ? { once: true as const } : {}),
        ...(entry.async === true ? { async: true as const } : {}),
        ...(isPersistent(entry) ? { persistent: true as const } : {}),
      })),
    warnings,
    ingress: (ingress) => mintOrigin(owner, ingress),
    wrapModel: (call, wrapOptions = {}) => wrapModelCall(seam, call, wrapOptions),
    async runUserPromptSubmit(origin, context = {}) {
      const session = runtime.session(context.sessionId ?? sessionId);
      const { model, agentId } = context;
      const verdict = await runtime.track(() => seam.consume(origin, { session, model, agentId }));
      return { suppressed: false, ...verdict };
    },
    async runSessionStart(fields, context = {}) {
      const verdict = await fire("SessionStart", fields, context);
      if (verdict.context !== undefined)
        runtime.session(context.sessionId ?? sessionId).contexts.push(verdict.context);
      return verdict;
    },
    async runSessionEnd(fields, context = {}) {
      const verdict = await fire("SessionEnd", fields, context);
      tellUndelivered(await runtime.endSession(context.sessionId ?? sessionId));
      return verdict;
    },
    async runStop(fields = {}, context = {}) {
      const session = runtime.session(context.sessionId ?? sessionId);
      const verdict = await fire("Stop", { stop_hook_active: session.stopBlocks > 0, ...fields }, context);
      return watchLoop(session, verdict);
    },
    runSubagentStart: (fields, context) => fire("SubagentStart", fields, context),
    runSubagentStop: (fields, context) => fire("SubagentStop", fields, context),
    runPreCompact: (fields, context) => fire("PreCompact", fields, context),
    runPostCompact: (fields, context) => fire("PostCompact", fields, context),
    runNotification: (fields, context) => fire("Notification", fields, context),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

const NOTHING: HostVerdict = Object.freeze({ decision: "none", suppressed: false });

/** A loop of its own making must end some time: what a hook says after 8 blocks is told and not heeded. */
function watchLoop(session: HostSession, verdict: HostVerdict): HostVerdict {
  session.stopBlocks = verdict.decision === "deny" ? session.stopBlocks + 1 : 0;
  if (session.stopBlocks <= STOP_BLOCK_LIMIT) return verdict;
  return { ...verdict, decision: "none", isLoop: true };
}

function toPromptVerdict({ verdict, said: { context } }: Fired): PromptVerdict {
  const told = context === undefined ? {} : { context };
  return verdict.decision === "deny"
    ? { decision: "deny", reason: verdict.reason, ...told }
    : { decision: "none", ...told };
}

function toHostVerdict({ verdict, said: { context, suppress } }: Fired): HostVerdict {
  return {
    ...(verdict.decision === "deny"
      ? { decision: "deny", reason: verdict.reason }
      : { decision: "none" as const }),
    suppressed: suppress === true,
    ...(context === undefined ? {} : { context }),
  };
}
