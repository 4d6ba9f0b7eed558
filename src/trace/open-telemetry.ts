// A run as OpenTelemetry spans: run, turns, tool calls, hooks. Attributes by the GenAI semantic conventions where they have a name for it.
// Never what a prompt, an input, an output or a reason says.

import type { ReceiptLine } from "../receipts/receipt.ts";
import { VERSION } from "../version.ts";
import { type Api, type Attributes, loadApi, type Span, type Tracer } from "./load-api.ts";
import { findParent, toVariables } from "./propagate.ts";
import type { RunTrace, RunTracer, TracedRun } from "./run-tracer.ts";

export interface OpenTelemetryOptions {
  /** @default the tracer `agent-bridle` of the global provider */
  readonly tracer?: Tracer;
}

/** Calls whose end was not told yet. An agent has far fewer; of more the oldest is ended. */
const OPEN_CALLS_MAX = 1_000;

const PROVIDER_NAMES = { claude: "anthropic", codex: "openai" } as const;

/**
 * For `trace` of `spawnAgent`. Needs `@opentelemetry/api`, and an SDK that has registered a provider; without one nothing is recorded, and a
 * parent's place is passed on as it is.
 *
 * @throws AgentHooksRefused `option_invalid` when `@opentelemetry/api` is not installed.
 * @example
 * const trace = await openTelemetry();
 * const run = await spawnAgent({ hooks, prompt, cwd, trace });
 */
export async function openTelemetry({ tracer }: OpenTelemetryOptions = {}): Promise<RunTracer> {
  const api = await loadApi();
  // The global provider is asked at each run: it may be registered later than this.
  return { begin: (run) => traceRun(api, tracer ?? api.trace.getTracer("agent-bridle", VERSION), run) };
}

function traceRun(api: Api, tracer: Tracer, run: TracedRun): RunTrace {
  const { SpanKind, SpanStatusCode, trace } = api;
  const above = findParent(api, run.env);
  const agent: Attributes = {
    "gen_ai.provider.name": PROVIDER_NAMES[run.provider],
    "gen_ai.agent.name": run.provider,
    "bridle.run.id": run.runId,
  };
  const root = tracer.startSpan(
    `invoke_agent ${run.provider}`,
    {
      kind: SpanKind.INTERNAL,
      attributes: {
        ...agent,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.version": run.providerVersion,
        "gen_ai.conversation.id": run.sessionId,
        ...(run.model === undefined ? {} : { "gen_ai.request.model": run.model }),
      },
    },
    above,
  );
  const below = (span: Span) => trace.setSpan(above, span);
  const fail = (span: Span, type: string) => {
    span.setAttribute("error.type", type);
    span.setStatus({ code: SpanStatusCode.ERROR });
  };
  let turn: Span | undefined;
  let isEnded = false;
  /** By the call's id; those without one under a number. */
  const calls = new Map<string | number, Span>();
  let unnamed = 0;

  const start = (name: string, parent: Span, attributes: Attributes, startTime = Date.now()) =>
    tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime, attributes }, below(parent));
  const closeAll = () => {
    for (const span of calls.values()) span.end();
    calls.clear();
    turn?.end();
    turn = undefined;
  };
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    closeAll();
    root.end();
  };

  const noteCall = (line: Extract<ReceiptLine, { kind: "tool_called" }>) => {
    const { tool_name: name, tool_use_id: id } = line;
    const span = start(`execute_tool ${name}`, turn ?? root, {
      ...agent,
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      ...(id === undefined ? {} : { "gen_ai.tool.call.id": id }),
    });
    unnamed += 1;
    const key = id ?? unnamed;
    calls.get(key)?.end(); // the same id once more
    calls.delete(key);
    calls.set(key, span);
    if (calls.size <= OPEN_CALLS_MAX) return;
    const [oldest] = calls;
    oldest?.[1].end();
    if (oldest !== undefined) calls.delete(oldest[0]);
  };
  const noteCallEnd = ({ tool_use_id: id, denied, failed }: Extract<ReceiptLine, { kind: "tool_ended" }>) => {
    const span = id === undefined ? undefined : calls.get(id);
    if (span === undefined || id === undefined) return;
    calls.delete(id);
    span.setAttribute("bridle.tool.denied", denied);
    // A denial is the guard at its work.
    if (failed && !denied) fail(span, "tool_error");
    span.end();
  };
  /** By the number of a hook's call: which call of a tool it was asked about. */
  const asked = new Map<number, string>();
  const noteHook = (line: Extract<ReceiptLine, { kind: "hook" }>) => {
    const id = asked.get(line.call);
    const parent = (id === undefined ? undefined : calls.get(id)) ?? turn ?? root;
    const now = Date.now();
    const attributes = {
      "bridle.run.id": run.runId,
      "bridle.hook.id": line.hook,
      "bridle.hook.event": line.event,
      "bridle.hook.decision": line.decision,
      "bridle.hook.exit": line.exit,
      "bridle.hook.background": line.background === true,
    };
    const span = start(`hook ${line.event}`, parent, attributes, now - line.duration_ms);
    if (line.failed) fail(span, "hook_failed");
    span.end(now);
  };

  const note = (line: ReceiptLine): void => {
    if (isEnded) return;
    switch (line.kind) {
      case "turn":
        turn?.end();
        turn = undefined;
        if (line.state === "started")
          turn = start(`turn ${line.turn}`, root, { ...agent, "bridle.turn": line.turn });
        return;
      case "tool_called":
        noteCall(line);
        return;
      case "tool_ended":
        noteCallEnd(line);
        return;
      case "fired":
        if (line.tool_use_id !== undefined) asked.set(line.call, line.tool_use_id);
        return;
      case "hook":
        noteHook(line);
        return;
      case "verdict":
        asked.delete(line.call);
        return;
      case "fault":
        root.addEvent("bridle.fault", { "bridle.fault": line.fault });
        return;
      case "run_ended":
        root.setAttributes({
          "bridle.outcome": line.outcome,
          "bridle.extinction": line.extinction,
          ...(line.exit_code === null ? {} : { "bridle.exit_code": line.exit_code }),
        });
        if (line.outcome === "success") root.setStatus({ code: SpanStatusCode.OK });
        else fail(root, line.outcome);
        end();
        return;
    }
  };
  return {
    env: toVariables(api, root.spanContext()),
    note,
    end() {
      if (!isEnded) fail(root, "not_started");
      end();
    },
  };
}
