// spawnAgent: checks, agent_prompt, run directory, preflight, prompt, supervision, agent_exit. In this order, each step once.

import { randomUUID } from "node:crypto";
import { type Broker, startBroker } from "../broker/broker.ts";
import type { HookPlan } from "../compiler/plan.ts";
import { planOf } from "../compiler/token.ts";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { createLedger, type Ledger } from "../journal/ledger.ts";
import { reach } from "../journal/steps.ts";
import { baseEnvelope } from "../profile/envelope.ts";
import { capabilityOf } from "../profile/events.ts";
import { createReceiptWriter, stateDirectory } from "../receipts/writer.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { adapterFor } from "../render/registry.ts";
import {
  describeAbort,
  type LiveRun as Entered,
  SHUTDOWN_MS,
  SupervisorStopping,
} from "../supervisor/live-runs.ts";
import { enterProcess } from "../supervisor/shutdown.ts";
import { passStartGate } from "../supervisor/start-gate.ts";
import { claimWorkspace, type WorkspaceClaim } from "../supervisor/workspace.ts";
import { type Started, startAttested } from "./attest.ts";
import type { ProviderChild } from "./child.ts";
import { resolveContainment } from "./containment.ts";
import { createEventQueue, type EventQueue } from "./events.ts";
import { createFinisher } from "./finish.ts";
import type { SpawnOptions } from "./options.ts";
import { precheckRun } from "./precheck.ts";
import type { RunResult } from "./result.ts";
import type { AgentRun } from "./run.ts";
import { createScope, type RunScope } from "./run-scope.ts";
import { type RunLayout, setUpRun } from "./set-up.ts";
import type { Settlement } from "./settle.ts";
import { startSessionWatch } from "./start-session-watch.ts";
import { endTree, killChild } from "./stop.ts";
import { type LiveRun, superviseToEnd } from "./supervise-to-end.ts";
import type { SessionWatch } from "./watch-codex-session.ts";
import { watchWorkingDirectory } from "./watch-cwd.ts";
import { watchPrompt } from "./watch-prompt.ts";
import { watchTools } from "./watch-tools.ts";

/**
 * Starts one agent under the hooks of a token. Resolves when the provider has shown that exactly those hooks are live and the
 * prompt was handed over.
 *
 * @throws AgentHooksRefused
 * - before any process and without a trace: `token_forged`, `option_invalid`, `deadline_invalid`, `argument_conflict`,
 *   `provider_changed`, `command_changed`, `platform_unsupported`, `workspace_busy`, `prompt_denied`;
 * - after `agent_prompt` passed, with `agent_exit` fired (outcome `refused`) and everything removed: `run_dir_unsafe`,
 *   `run_home_unsafe`, `resume_mismatch`, `config_home_busy`, `provider_changed`, `provider_policy`, `attestation_failed`,
 *   `provider_unsupported`;
 * - at either time `supervisor_stopping`; outcome `interrupted` when `agent_exit` fires.
 * @example
 * const run = await spawnAgent({ hooks, prompt: "Fix the failing test", cwd: "/srv/project" });
 * for await (const event of run) if (event.type === "message") console.log(event.text);
 * const { outcome, reason } = await run.result;
 */
export function spawnAgent(options: SpawnOptions): Promise<AgentRun> {
  return spawnOwned(undefined, options);
}

/** As `spawnAgent`, for a supervisor that can tell its runs from others. */
export async function spawnOwned(owner: object | undefined, options: SpawnOptions): Promise<AgentRun> {
  const entered = enterProcess({
    signal: options.signal,
    owner,
    stopsWithProcess: options.shutdown !== "off",
    shutdownMs: options.deadlines?.shutdownMs ?? SHUTDOWN_MS,
  });
  try {
    const run = await startRun(planOf(options.hooks), entered, options);
    void run.result.then(entered.leave);
    return run;
  } catch (error) {
    entered.leave();
    throw error;
  }
}

async function startRun(plan: HookPlan, entered: Entered, given: SpawnOptions): Promise<AgentRun> {
  const adapter = adapterFor(plan.provider);
  const runOptions = await precheckRun(plan, adapter, given);
  const options = { ...given, signal: entered.signal };
  const recipe = await resolveContainment(options.containment);
  options.signal.throwIfAborted();
  const queueControl = { pause: () => {}, resume: () => {} };
  const runId = randomUUID();
  const queue = createEventQueue(runId, {
    onFull: () => queueControl.pause(),
    onDrained: () => queueControl.resume(),
  });
  const scope = createScope({ plan, adapter, options, runOptions, runId, recipe }, (event) =>
    queue.push(event),
  );
  const workspace = await claimWorkspace({
    stateDir: stateDirectory(options.baseEnv),
    runId,
    cwd: runOptions.cwd,
    use: options.workspace ?? "shared",
    signal: options.signal,
  });
  if (workspace.problem !== undefined)
    scope.warnings.push({ code: "workspace_unnoted", message: workspace.problem });
  reach("before_prompt", runId);
  const prompt = await decidePrompt(scope).catch(async (error: unknown) => {
    await workspace.release();
    throw error;
  });
  reach("prompt_passed", runId);

  const startedAt = performance.now();
  const ledger = endWithWorkspace(createLedger(scope), workspace);
  const finish = createFinisher({ ...scope, startedAt, queue, ledger });
  let layout: RunLayout | undefined;
  let broker: Broker | undefined;
  let child: ProviderChild | undefined;
  let closeWatch = () => {};
  let session: SessionWatch | undefined;
  try {
    await ledger.admit();
    await admitReceipts(scope, prompt);
    layout = await setUpRun({ ...scope, marker: runId });
    await ledger.prepare(layout);
    noteLayout(scope, layout);
    for (const warning of scope.warnings) queue.push({ type: "warning", ...warning });
    broker = await openBroker(scope, layout);
    reach("broker_opened", runId);
    const watch = watchTools({
      plan,
      ledger: scope.runtime.ledger,
      attestation: scope.attestation,
      receipts: scope.receipts,
      runDirectory: layout.runDirectory,
      end: (cause) => scope.ender.end(cause),
    });
    const watchForPrompt = watchPrompt({ ...scope, end: (cause) => scope.ender.end(cause) });
    const directory = watchWorkingDirectory(runOptions.cwd, (detail) => {
      scope.receipts.write({ kind: "fault", fault: "cwd_lost", detail });
      const isGuarded = plan.events.some((event) => capabilityOf(event).role === "gate");
      const reason = `cwd_lost: ${detail}`;
      scope.ender.end(isGuarded ? { kind: "unenforced", reason } : { kind: "stopped", reason });
    });
    session = startSessionWatch(scope, layout, (warning) => queue.push({ type: "warning", ...warning }));
    closeWatch = directory.close;
    const onEvent: Parameters<typeof startAttested>[2] = (event) => {
      directory.look();
      session?.look();
      watchForPrompt(event);
      watch(event);
      queue.push(event);
    };
    const onStarted = (spawned: ProviderChild) => {
      child = spawned;
      entered.onKill(() => killChild(spawned));
      return ledger.start(spawned);
    };
    const placed = layout;
    const started = await passStartGate(describeGate(scope, placed, options.signal), () => {
      options.signal.throwIfAborted();
      return startAttested(scope, placed, onEvent, onStarted);
    });
    options.signal.throwIfAborted();
    reach("attested", runId);
    queueControl.pause = () => void started.child.stdout.pause();
    queueControl.resume = () => void started.child.stdout.resume();
    handOver(scope, started, prompt, layout);
    void ledger.listen();
    reach("prompt_handed_over", runId);
    void started.supervision.ended.then(directory.close);
    const live: LiveRun = { layout, broker, finish, session, ...started };
    return createRun(scope, live, queue, superviseToEnd(scope, live));
  } catch (error) {
    closeWatch();
    session?.close();
    const extinction = child === undefined ? undefined : await endTree(child, runId);
    await broker?.close();
    await scope.runtime.settle();
    await layout?.remove();
    await finish({
      settlement: settleFailedStart(scope, error),
      exit: { code: null, signal: null },
      extinction: extinction ?? { state: "swept", method: "nothing was started", survivors: [] },
      stderr: child?.stderrTail() ?? "",
    });
    if (!(error instanceof AgentHooksRefused)) throw error;
    throw new AgentHooksRefused(redactIssues(error.issues, scope.redactor), { runId, cause: error });
  }
}

/** The workspace is held until agent_exit has run, and free when the result is delivered. */
function endWithWorkspace(ledger: Ledger, workspace: WorkspaceClaim): Ledger {
  return {
    ...ledger,
    async end(settlement, extinction) {
      await ledger.end(settlement, extinction);
      await workspace.release({ hasSurvivors: extinction.survivors.length > 0 });
    },
  };
}

function describeGate(
  { plan, options, runOptions, deadlines, warnings, receipts, redactor }: RunScope,
  { environment, context }: RunLayout,
  signal: AbortSignal,
): Parameters<typeof passStartGate>[0] {
  return {
    gate: options.startGate ?? "auto",
    provider: plan.provider,
    configHome: runOptions.configHome ?? "user",
    env: environment.env,
    providerHome: context.providerHome,
    stateDir: stateDirectory(options.baseEnv),
    waitMs: deadlines.attestMs,
    signal,
    onOpen: (why) => {
      const message = `starts that share the agent's home were not kept apart: ${redactor.text(why)}`;
      warnings.push({ code: "start_gate_unavailable", message });
      receipts.write({ kind: "warning", code: "start_gate_unavailable", message });
    },
  };
}

function settleFailedStart({ options, redactor }: RunScope, error: unknown): Settlement {
  const abortedBy: unknown = options.signal?.reason;
  if (abortedBy instanceof SupervisorStopping)
    return { outcome: "interrupted", reason: describeAbort(abortedBy) };
  if (error instanceof AgentHooksRefused) {
    return { outcome: "refused", reason: error.issues.map(({ code }) => code).join(", ") };
  }
  if (options.signal?.aborted === true) return { outcome: "interrupted", reason: "aborted" };
  return { outcome: "failed", reason: redactor.text(String(error)) };
}

/** Runs agent_prompt. Returns the prompt with added context, or throws `prompt_denied` (P3: nothing was started). */
async function decidePrompt({
  plan,
  options,
  runOptions,
  runtime,
  runId,
  sessionId,
  redactor,
}: RunScope): Promise<string> {
  const context = { provider: plan.provider, sessionId, runId, cwd: runOptions.cwd };
  const envelope = {
    ...baseEnvelope("agent_prompt", context),
    prompt: options.prompt,
    permission_mode: options.permissionMode ?? "default",
    ...(options.model === undefined ? {} : { model: options.model }),
  };
  const signal = options.signal ?? new AbortController().signal;
  const verdict = await runtime.runOwn("agent_prompt", envelope, signal);
  options.signal?.throwIfAborted();
  if (verdict.decision === "deny") {
    const issue: Issue = {
      code: "prompt_denied",
      path: "agent_prompt",
      message: redactor.text(verdict.reason),
      hint: "",
    };
    throw new AgentHooksRefused([issue]);
  }
  return verdict.context === undefined ? options.prompt : `${options.prompt}\n\n${verdict.context}`;
}

async function admitReceipts(
  { plan, options, runOptions, receipts, redactor, runId, sessionId }: RunScope,
  prompt: string,
): Promise<void> {
  const directory = options.receiptsDir ?? `${stateDirectory(options.baseEnv)}/receipts`;
  const writer = await createReceiptWriter({ runId, redactor, sink: options.receiptSink, directory });
  writer.write({
    kind: "run_started",
    provider: plan.provider,
    provider_version: plan.binary.version,
    binary_sha256: plan.binary.identity.sha256,
    digest: plan.digest,
    prove: plan.prove,
    ...(plan.proof === undefined ? {} : { proof: plan.proof.digest }),
    cwd: runOptions.cwd,
    session_id: sessionId,
    prompt_bytes: Buffer.byteLength(prompt),
  });
  receipts.admit(writer);
  reach("receipts_opened", runId);
}

function noteLayout(
  { plan, receipts, warnings }: RunScope,
  { rendered, environment, ambient }: RunLayout,
): void {
  const files = rendered.files.map(({ path, mode, content }) => ({
    path,
    mode: mode.toString(8).padStart(4, "0"),
    bytes: Buffer.byteLength(content),
  }));
  receipts.write({
    kind: "rendered",
    events: plan.events,
    files,
    env_names: Object.keys(environment.env).sort(),
    dropped_env_names: environment.dropped,
  });
  warnings.push(...ambient.findings);
  if (environment.dropped.length > 0)
    warnings.push({ code: "env_dropped", message: `not passed on: ${environment.dropped.join(", ")}` });
  for (const warning of warnings) receipts.write({ kind: "warning", ...warning });
}

function openBroker(
  { plan, runtime, receipts, redactor, attestation, ender }: RunScope,
  { runDirectory }: RunLayout,
): Promise<Broker> {
  return startBroker({
    runDirectory,
    events: plan.events,
    answer: runtime.answer,
    deadlineMs: (event) => ((plan.deadlines[event]?.shimSeconds ?? 2) - 1) * 1000,
    isGate: (event) => capabilityOf(event).role === "gate",
    onAsked: attestation.asked,
    onAnswered: attestation.answered,
    onFault: ({ kind, event, callId, detail: said }) => {
      const detail = callId === undefined ? said : `${said} (${attestation.describe(callId)})`;
      receipts.write({
        kind: "fault",
        fault: kind,
        ...(event === undefined ? {} : { event }),
        detail: redactor.text(detail),
      });
      if (kind === "late") runtime.counts.late += 1;
      if (callId !== undefined && (kind === "late" || kind === "deadline")) attestation.late(callId);
      const concernsGate = event === undefined || event === "Stop" || capabilityOf(event).role === "gate";
      if (concernsGate) ender.end({ kind: "unenforced", reason: `${kind}: ${redactor.text(detail)}` });
    },
  });
}

function handOver(
  { adapter, options }: RunScope,
  { child, supervision }: Started,
  prompt: string,
  { context }: RunLayout,
): void {
  const { bytes, end } = adapter.encodePrompt(prompt, context);
  child.stdin.write(bytes);
  if (end) child.stdin.end();
  supervision.startClock();
  const { signal } = options;
  const onAbort = () => supervision.end({ kind: "aborted", reason: describeAbort(signal?.reason) });
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  void supervision.ended.then(() => signal?.removeEventListener("abort", onAbort));
}

function createRun(
  scope: RunScope,
  { child, supervision, report }: LiveRun,
  queue: EventQueue,
  result: Promise<RunResult>,
): AgentRun {
  const stop = (reason: unknown = "stopped") => {
    supervision.end({
      kind: "stopped",
      reason:
        typeof reason === "string" ? reason : reason instanceof Error ? String(reason.message) : "stopped",
    });
    return result;
  };
  return {
    id: scope.runId,
    pid: child.cliPid,
    provider: scope.plan.provider,
    providerVersion: report.providerVersion ?? scope.plan.binary.version,
    result,
    stop,
    interrupt: () => {
      supervision.interrupt();
      return result;
    },
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
    [Symbol.asyncDispose]: async () => void (await stop("disposed")),
  };
}

function redactIssues(issues: readonly Issue[], redactor: Redactor): Issue[] {
  return issues.map(({ code, path, message, hint }) => ({
    code,
    path,
    message: redactor.text(message),
    hint,
  }));
}
