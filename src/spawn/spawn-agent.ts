// spawnAgent: checks, agent_prompt, run directory, preflight, prompt, supervision, agent_exit. In this order, each step once.

import { randomUUID } from "node:crypto";
import { type Broker, startBroker } from "../broker/broker.ts";
import { planOf } from "../compiler/token.ts";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { createLedger } from "../journal/ledger.ts";
import { reach } from "../journal/steps.ts";
import { baseEnvelope } from "../profile/envelope.ts";
import { capabilityOf } from "../profile/events.ts";
import { createReceiptWriter, stateDirectory } from "../receipts/writer.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { PreflightReport } from "../render/provider.ts";
import { adapterFor } from "../render/registry.ts";
import { type Started, startAttested } from "./attest.ts";
import type { ProviderChild } from "./child.ts";
import { closeRun, type OpenParts } from "./close-run.ts";
import { resolveContainment } from "./containment.ts";
import { createEventQueue, type EventQueue, queueLimits } from "./event-queue.ts";
import { createFinisher } from "./finish.ts";
import { createLife, type Life } from "./life.ts";
import type { SpawnOptions } from "./options.ts";
import { precheckRun } from "./precheck.ts";
import type { AgentRun } from "./run.ts";
import { createScope, type RunScope } from "./run-scope.ts";
import { type RunLayout, setUpRun } from "./set-up.ts";
import type { Settlement, StopCause } from "./settle.ts";
import { startSessionWatch } from "./start-session-watch.ts";
import { watchWorkingDirectory } from "./watch-cwd.ts";
import { watchPrompt } from "./watch-prompt.ts";
import { watchTools } from "./watch-tools.ts";

/**
 * Starts one agent under the hooks of a token. Resolves when the provider has shown that exactly those hooks are live and the
 * prompt was handed over.
 *
 * @throws AgentHooksRefused
 * - before any process and without a trace: `token_forged`, `option_invalid`, `deadline_invalid`, `argument_conflict`,
 *   `provider_changed`, `command_changed`, `platform_unsupported`, `prompt_denied`;
 * - after `agent_prompt` passed, with `agent_exit` fired (outcome `refused`) and everything removed: `run_dir_unsafe`,
 *   `run_home_unsafe`, `resume_mismatch`, `provider_changed`, `provider_policy`, `attestation_failed`, `provider_unsupported`.
 * @example
 * const run = await spawnAgent({ hooks, prompt: "Fix the failing test", cwd: "/srv/project" });
 * for await (const event of run) if (event.type === "message") console.log(event.text);
 * const { outcome, reason } = await run.result;
 */
export async function spawnAgent(options: SpawnOptions): Promise<AgentRun> {
  const plan = planOf(options.hooks);
  const adapter = adapterFor(plan.provider);
  const runOptions = await precheckRun(plan, adapter, options);
  const recipe = await resolveContainment(options.containment);
  options.signal?.throwIfAborted();
  const queueControl = { pause: () => {}, resume: () => {} };
  const runId = randomUUID();
  const queue = createEventQueue(
    runId,
    { onFull: () => queueControl.pause(), onDrained: () => queueControl.resume() },
    queueLimits(options.maxLineBytes),
  );
  const scope = createScope({ plan, adapter, options, runOptions, runId, recipe }, (event) =>
    queue.push(event),
  );
  reach("before_prompt", runId);
  const prompt = await decidePrompt(scope);
  reach("prompt_passed", runId);

  const startedAt = performance.now();
  const ledger = createLedger(scope);
  const finish = createFinisher({ ...scope, startedAt, queue, ledger });
  const parts: OpenParts = {};
  let child: ProviderChild | undefined;
  let report: PreflightReport | undefined;
  const life = createLife(scope.deadlines, {
    close: () => closeRun(scope, parts),
    finish: (ending) =>
      finish({ ...ending, report, summary: parts.summary, stderr: child?.stderrTail() ?? "" }),
  });
  scope.ender.isEnding = () => life.state.stopCause !== undefined || life.state.isInterruptAsked;
  scope.ender.end = (cause) =>
    life.send({ type: "end", cause: nameUnderWay(cause, scope.runtime.ledger.underWay()) });
  try {
    await ledger.admit();
    await admitReceipts(scope, prompt);
    const layout = await setUpRun({ ...scope, marker: runId });
    parts.layout = layout;
    await ledger.prepare(layout);
    noteLayout(scope, layout);
    for (const warning of scope.warnings) queue.push({ type: "warning", ...warning });
    parts.broker = await openBroker(scope, layout);
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
    parts.closeWatch = directory.close;
    const session = startSessionWatch(scope, layout, (warning) =>
      queue.push({ type: "warning", ...warning }),
    );
    parts.session = session;
    const started = await startAttested(scope, layout, {
      life,
      onEvent: (event) => {
        directory.look();
        session?.look();
        watchForPrompt(event);
        watch(event);
        queue.push(event.type === "unparsed" ? { ...event, text: scope.redactor.text(event.text) } : event);
      },
      onStarted: (spawned) => {
        child = spawned;
        return ledger.start(spawned);
      },
      onSupervised: (summary) => {
        parts.summary = summary;
      },
    });
    report = started.report;
    reach("attested", runId);
    queueControl.pause = () => void started.child.stdout.pause();
    queueControl.resume = () => void started.child.stdout.resume();
    // What is left of the output is read within `drainMs`, whether or not the consumer keeps up.
    void started.child.exited.then(() => {
      queueControl.pause = () => {};
    });
    handOver(scope, started, life, prompt, layout);
    void ledger.listen();
    reach("prompt_handed_over", runId);
    return createRun(scope, started, life, queue);
  } catch (error) {
    life.send({ type: "start_failed", settlement: settleFailedStart(scope, error) });
    await life.result;
    if (!(error instanceof AgentHooksRefused)) throw error;
    throw new AgentHooksRefused(redactIssues(error.issues, scope.redactor), { runId, cause: error });
  }
}

function settleFailedStart({ options, redactor }: RunScope, error: unknown): Settlement {
  if (error instanceof AgentHooksRefused) {
    return { outcome: "refused", reason: error.issues.map(({ code }) => code).join(", ") };
  }
  if (options.signal?.aborted === true) return { outcome: "interrupted", reason: "aborted" };
  return { outcome: "failed", reason: redactor.text(error instanceof Error ? error.message : String(error)) };
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
  { child }: Started,
  life: Life,
  prompt: string,
  { context }: RunLayout,
): void {
  const { bytes, end } = adapter.encodePrompt(prompt, context);
  child.stdin.write(bytes);
  if (end) child.stdin.end();
  life.send({ type: "prompt_handed_over" });
  const { signal } = options;
  const onAbort = () => life.send({ type: "end", cause: { kind: "aborted", reason: "aborted" } });
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  void life.result.finally(() => signal?.removeEventListener("abort", onAbort));
}

function createRun(scope: RunScope, { child, report }: Started, life: Life, queue: EventQueue): AgentRun {
  const { result } = life;
  const stop = (asked: unknown = "stopped") => {
    const reason =
      typeof asked === "string" ? asked : asked instanceof Error ? String(asked.message) : "stopped";
    life.send({ type: "end", cause: { kind: "stopped", reason } });
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
      life.send({ type: "interrupt" });
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

/** What else was running when the guard path was found broken: it may have finished, and nothing more is known of it. */
function nameUnderWay(cause: StopCause, ids: readonly string[]): StopCause {
  if (cause.kind !== "unenforced") return cause;
  const others = ids.filter((id) => !cause.reason.includes(id));
  if (others.length === 0) return cause;
  return { ...cause, reason: `${cause.reason}; other calls under way: ${others.join(", ")}` };
}
