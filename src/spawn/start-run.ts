// How a run starts: checks, agent_prompt, run directory, preflight, prompt, supervision, agent_exit. In this order, each step once.

import type { HookPlan } from "../compiler/plan.ts";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { isCrowded, noteStart, withStartPlace } from "../exec/start-limit.ts";
import { createLedger, type Ledger } from "../journal/ledger.ts";
import { reach } from "../journal/steps.ts";
import { capabilityOf } from "../profile/events.ts";
import { noteWork } from "../receipts/note-work.ts";
import { stateDirectory } from "../receipts/writer.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { PreflightReport } from "../render/provider.ts";
import { adapterFor } from "../render/registry.ts";
import { settleAll } from "../settle-all.ts";
import { describeAbort, type LiveRun as Entered, SupervisorStopping } from "../supervisor/live-runs.ts";
import { passStartGate } from "../supervisor/start-gate.ts";
import { claimWorkspace, type WorkspaceClaim } from "../supervisor/workspace.ts";
import { describeChild, type Started, type StartHandlers, startAttested } from "./attest.ts";
import { type HeldChild, holdChild, type ProviderChild } from "./child.ts";
import { closeRun, type OpenParts } from "./close-run.ts";
import { resolveContainment } from "./containment.ts";
import { decidePrompt } from "./decide-prompt.ts";
import { createEventQueue, queueLimits } from "./event-queue.ts";
import { createFinisher } from "./finish.ts";
import { runIdOf } from "./given-run-id.ts";
import { createOutputHold } from "./hold-output.ts";
import { createLife, type Life } from "./life.ts";
import type { NamespaceRecipe } from "./namespace-recipe.ts";
import { admitReceipts, noteLayout } from "./note-run.ts";
import { onceATurn } from "./once-a-turn.ts";
import { openBroker } from "./open-guard-paths.ts";
import type { SpawnOptions } from "./options.ts";
import { precheckRun } from "./precheck.ts";
import { type AgentRun, createRun } from "./run.ts";
import { createScope, type RunScope } from "./run-scope.ts";
import { makeRun, planRun, type RunLayout, type RunPlan } from "./set-up.ts";
import type { Settlement, StopCause } from "./settle.ts";
import { startSessionWatch } from "./start-session-watch.ts";
import { handsOfHeld, killChild } from "./stop.ts";
import { createEventFilter } from "./wanted-events.ts";
import { watchWorkingDirectory } from "./watch-cwd.ts";
import { watchPrompt } from "./watch-prompt.ts";
import { watchTools } from "./watch-tools.ts";

/** From the checks to the handed over prompt. `entered` is left by who entered it. */
export async function startRun(plan: HookPlan, entered: Entered, given: SpawnOptions): Promise<AgentRun> {
  const noteEnd = noteStart();
  try {
    return await startNoted(plan, entered, given);
  } finally {
    noteEnd();
  }
}

async function startNoted(plan: HookPlan, entered: Entered, given: SpawnOptions): Promise<AgentRun> {
  const adapter = adapterFor(plan.provider);
  const runOptions = await precheckRun(plan, adapter, given);
  const options = { ...given, signal: entered.signal };
  const recipe = await resolveContainment(options.containment);
  options.signal.throwIfAborted();
  const runId = runIdOf(given);
  const claiming = claimWorkspace({
    stateDir: stateDirectory(options.baseEnv),
    runId,
    cwd: runOptions.cwd,
    use: options.workspace ?? "shared",
    signal: options.signal,
  });
  claiming.catch(() => {}); // not unhandled: it is awaited below
  const queueControl = { pause: () => {}, resume: () => {} };
  const queue = createEventQueue(
    runId,
    { onFull: () => queueControl.pause(), onDrained: () => queueControl.resume() },
    queueLimits(options.maxLineBytes),
    createEventFilter(options.events),
  );
  const scope = await orRelease(claiming, () =>
    createScope({ plan, adapter, options, runOptions, runId, recipe }, (event) => queue.push(event)),
  );
  const record = createLedger(scope);
  const setUp = { ...scope, marker: runId };
  let planning: Promise<RunPlan> | undefined;
  const planOnce = () => {
    planning ??= planRun(setUp);
    return planning;
  };
  // Where no hook can deny the prompt, or change what is looked at, this is done while others are waited for. It makes nothing of the run.
  if (!isCrowded() && !plan.entries.some(({ event }) => event === "agent_prompt")) {
    record.begin();
    planOnce().catch(() => {}); // not unhandled: it is awaited below, if at all
  }
  const workspace = await claiming.catch(async (error: unknown) => {
    await record.discard();
    scope.trace.end();
    throw error;
  });
  if (workspace.problem !== undefined)
    scope.warnings.push({ code: "workspace_unnoted", message: workspace.problem });
  reach("before_prompt", runId);
  const prompt = await orRelease(claiming, () => decidePrompt(scope)).catch(async (error: unknown) => {
    await record.discard();
    scope.trace.end();
    throw error;
  });
  reach("prompt_passed", runId);

  const startedAt = performance.now();
  const ledger = endWithWorkspace(record, workspace);
  const finish = createFinisher({ ...scope, startedAt, queue, ledger });
  const parts: OpenParts = {};
  let child: ProviderChild | undefined;
  let report: PreflightReport | undefined;
  const work = noteWork(scope.receipts);
  const life = work.watch(
    createLife(scope.deadlines, {
      close: () => closeRun(scope, parts),
      finish: (ending) =>
        finish({ ...ending, report, summary: parts.summary, stderr: child?.stderrTail() ?? "" }),
    }),
  );
  scope.ender.isEnding = () => life.state.stopCause !== undefined || life.state.isInterruptAsked;
  scope.ender.end = (cause) =>
    life.send({ type: "end", cause: nameUnderWay(cause, scope.runtime.ledger.underWay()) });
  /** Lines of the record, which are on the disk before the agent runs. */
  const records: Promise<void>[] = [];
  try {
    const layOut = async (planned: RunPlan): Promise<RunLayout> => {
      const made = await makeRun(setUp, planned);
      parts.layout = made;
      scope.made.runDirectory = made.runDirectory.path;
      records.push(ledger.prepare(made));
      parts.broker = await openBroker(scope, made);
      return made;
    };
    const holdAgent = async (
      planned: RunPlan,
      inNamespace: NamespaceRecipe,
      admitting: Promise<void>,
    ): Promise<HeldChild> => {
      const held = await holdChild({ ...describeChild(scope, planned), recipe: inNamespace });
      life.attach(handsOfHeld(held, runId));
      entered.onKill(held.kill);
      reach("held", runId);
      const recording = admitting.then(() => ledger.start(held));
      recording.catch(() => {}); // not unhandled: it is awaited with the others
      records.push(recording);
      return held;
    };
    const [layout, held] = await withStartPlace(async () => {
      // What is made waits for the record of the run; what ends by itself with this process does not.
      const heldIn = isCrowded() ? undefined : recipe;
      const admitting = ledger.admit(heldIn !== undefined).then(() => admitReceipts(scope, prompt));
      admitting.catch(() => {}); // not unhandled: what is laid out waits for it
      const planned = await planOnce();
      return settleAll([
        admitting.then(() => layOut(planned)),
        heldIn === undefined ? undefined : holdAgent(planned, heldIn, admitting),
      ]);
    });
    noteLayout(scope, layout);
    for (const warning of scope.warnings) queue.push({ type: "warning", ...warning });
    reach("broker_opened", runId);
    const watch = watchTools({
      plan,
      ledger: scope.runtime.ledger,
      attestation: scope.attestation,
      receipts: scope.receipts,
      changedQuickly: onceATurn(() => layout.runDirectory.changedQuickly(undefined)),
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
    const lookAtRun = onceATurn(() => {
      directory.look();
      session?.look();
    });
    const handlers: StartHandlers = {
      life,
      onEvent: (event) => {
        lookAtRun();
        work.note(event);
        watchForPrompt(event);
        watch(event);
        queue.push(event.type === "unparsed" ? { ...event, text: scope.redactor.text(event.text) } : event);
      },
      onSpawned: ledger.start,
      onStarted: (spawned) => {
        child = spawned;
        entered.onKill(() =>
          life.state.phase === "starting" ? killChild(spawned) : life.send({ type: "kill" }),
        );
      },
      onCallbacks: (callbacks) => {
        parts.callbacks = callbacks;
      },
      onSupervised: (summary) => {
        parts.summary = summary;
      },
    };
    const started = await passStartGate(describeGate(scope, layout, options.signal), async () => {
      options.signal.throwIfAborted();
      await settleAll(records);
      return startAttested(scope, layout, held, handlers);
    });
    options.signal.throwIfAborted();
    report = started.report;
    reach("attested", runId);
    const hold = createOutputHold(
      started.child.stdout,
      parts.callbacks === undefined ? undefined : () => queue.hasRoom,
    );
    queueControl.pause = hold.pause;
    queueControl.resume = hold.resume;
    // What is left of the output is read within `drainMs`, whether or not the consumer keeps up.
    void started.child.exited.then(() => {
      queueControl.pause = () => {};
      hold.resume();
    });
    handOver(scope, started, life, prompt, layout);
    void ledger.listen();
    reach("prompt_handed_over", runId);
    return createRun(scope, started, life, queue);
  } catch (error) {
    await Promise.allSettled(records); // the record's end comes behind them
    life.send({ type: "start_failed", settlement: settleFailedStart(scope, error) });
    await life.result;
    if (!(error instanceof AgentHooksRefused)) throw error;
    throw new AgentHooksRefused(redactIssues(error.issues, scope.redactor), { runId, cause: error });
  }
}

async function orRelease<Made>(
  claiming: Promise<WorkspaceClaim>,
  step: () => Made | Promise<Made>,
): Promise<Made> {
  try {
    return await step();
  } catch (error) {
    await (await claiming).release();
    throw error;
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
  return { outcome: "failed", reason: redactor.text(error instanceof Error ? error.message : String(error)) };
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
  const onAbort = () =>
    life.send({ type: "end", cause: { kind: "aborted", reason: describeAbort(signal?.reason) } });
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  void life.result.finally(() => signal?.removeEventListener("abort", onAbort));
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
