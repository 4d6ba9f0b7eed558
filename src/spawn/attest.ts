// Starts the CLI and has it show that our hooks, and only ours, are live.

import type { CallbackChannel } from "../broker/callback-channel.ts";
import { verifyRunDirectory } from "../broker/run-directory-identity.ts";
import { refuseIfAny } from "../errors.ts";
import { withStartPlace } from "../exec/start-limit.ts";
import { takeStartTurn } from "../exec/start-turn.ts";
import { reach } from "../journal/steps.ts";
import { CANARY_EVENT } from "../profile/events.ts";
import type { PreflightReport } from "../render/provider.ts";
import { type ChildOptions, type HeldChild, type ProviderChild, startChild } from "./child.ts";
import { refuseDotEnv } from "./home.ts";
import type { Life } from "./life.ts";
import { openCallbacks } from "./open-guard-paths.ts";
import { checkBytes } from "./precheck.ts";
import { channelOfChild, channelOfOwnProcess, createLineHub } from "./preflight-channel.ts";
import type { RunScope } from "./run-scope.ts";
import { findAlteredFiles, type RunLayout, type RunPlan } from "./set-up.ts";
import { endTree } from "./stop.ts";
import { type StreamSummary, superviseChild } from "./supervise.ts";
import { createEventFilter, wantsOf } from "./wanted-events.ts";
import { watchProviderHooks } from "./watch-provider-hooks.ts";

export interface Started {
  readonly child: ProviderChild;
  readonly report: PreflightReport;
}

export interface StartHandlers {
  /** What the started child does becomes its events. */
  readonly life: Life;
  readonly onEvent: Parameters<typeof superviseChild>[0]["onEvent"];
  /** The process is there, of an agent that was not held. Awaited before the first output is read. */
  readonly onSpawned: (started: Pick<ProviderChild, "pid" | "groupId">) => Promise<void>;
  /** Before the first output. */
  readonly onStarted: (child: ProviderChild) => void;
  /** Before the first output. */
  readonly onCallbacks: (callbacks: CallbackChannel | undefined) => void;
  /** From the first output on. */
  readonly onSupervised: (summary: StreamSummary) => void;
}

/** Starts the CLI and attests the hooks: claude over the started CLI's own pipes, codex by a process of its own before it. */
export async function startAttested(
  scope: RunScope,
  layout: RunLayout,
  held: HeldChild | undefined,
  { life, onEvent, onSpawned, onStarted, onCallbacks, onSupervised }: StartHandlers,
): Promise<Started> {
  const { plan, adapter, deadlines, receipts, redactor, options, ender, runId, attestation, warnings } =
    scope;
  const { rendered, context, environment } = layout;
  const start = { program: plan.binary.identity.path, env: environment.env, cwd: context.options.cwd };
  const timeout = AbortSignal.timeout(deadlines.attestMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const attest = async (channel: Parameters<typeof adapter.preflight>[3]): Promise<PreflightReport> => {
    const report = await adapter
      .preflight(plan, context, rendered, channel)
      .catch((error: unknown): PreflightReport => {
        if (options.signal?.aborted === true) throw options.signal.reason;
        const message = timeout.aborted ? `no attestation within ${deadlines.attestMs} ms` : String(error);
        return {
          issues: [{ code: "attestation_failed", path: "preflight", message, hint: "" }],
          foreignHooks: [],
          capabilities: {},
        };
      });
    const codes = report.issues.map(({ code, message }) => redactor.text(`${code}: ${message}`));
    receipts.write({
      kind: "preflighted",
      attested: codes.length === 0,
      issues: codes,
      foreign_hooks: report.foreignHooks.length,
    });
    refuseIfAny(report.issues);
    const foreign = [...new Set(report.foreignHooks.map(({ event }) => event))];
    attestation.preflighted(foreign);
    if (plan.provider === "claude" && foreign.length > 0) warnings.push(endsNotCounted(foreign));
    return report;
  };

  const ownReport =
    rendered.preflightArgv === undefined ? undefined : await attest(channelOfOwnProcess(start, signal));
  const child = await withStartPlace(() => startChecked(scope, layout, held, { onSpawned, onStarted }));
  const lines = createLineHub();
  const callbacks = openCallbacks(scope, child);
  onCallbacks(callbacks);
  const summary = superviseChild({
    child,
    adapter,
    life,
    marker: runId,
    lines,
    onEvent,
    onControl: (payload) => callbacks?.take(payload),
    onSkipped: (start) => callbacks?.takeSkipped(start),
    onProviderHook: watchProviderHooks({
      attestation,
      receipts,
      end: (cause) => ender.end(cause),
      isEnding: () => ender.isEnding(),
    }),
    redact: redactor.text,
    wants: wantsOf(plan, createEventFilter(options.events)),
    maxLineBytes: options.maxLineBytes,
  });
  onSupervised(summary);
  const report = ownReport ?? (await attest(channelOfChild(child, lines, signal)));
  // claude runs SessionStart hooks before it answers `initialize` (C-40); codex runs them only once it has the prompt.
  if (plan.provider === "claude") await awaitCanary(scope, child, signal);
  life.send({ type: "attested" });
  return { child, report };
}

/** The CLI as it is started; nothing of it needs what is made for the run. */
export function describeChild(
  { plan }: RunScope,
  { rendered, context, environment }: RunPlan,
): Pick<ChildOptions, "program" | "argv" | "env" | "cwd"> {
  return {
    program: plan.binary.identity.path,
    argv: rendered.argv,
    env: environment.env,
    cwd: context.options.cwd,
  };
}

/** Starts the CLI right after the last look at what it must not have got in the meantime. Resolves when the process is written down. */
async function startChecked(
  scope: RunScope,
  layout: RunLayout,
  held: HeldChild | undefined,
  { onSpawned, onStarted }: Pick<StartHandlers, "onSpawned" | "onStarted">,
): Promise<ProviderChild> {
  const { runId, recipe } = scope;
  if (held !== undefined) {
    await checkBefore(scope, layout);
    const child = await held.release();
    reach("released", runId);
    onStarted(child);
    return child;
  }
  // First the turn: nothing is to be waited for between the checks and the start.
  await takeStartTurn();
  await checkBefore(scope, layout);
  let written = Promise.resolve();
  const child = await startChild({
    ...describeChild(scope, layout),
    recipe,
    hasTurn: true,
    onSpawned: (started) => {
      written = onSpawned(started);
      written.catch(() => {}); // awaited below; no child, no need of it
    },
  });
  reach("released", runId);
  onStarted(child);
  try {
    await written;
  } catch (error) {
    await endTree(child, runId); // not supervised yet: nobody else would end it
    throw error;
  }
  return child;
}

async function checkBefore({ plan }: RunScope, layout: RunLayout): Promise<void> {
  const { rendered, context, runDirectory } = layout;
  if (plan.provider === "codex") refuseDotEnv(context.providerHome);
  refuseIfAny(await checkBytes(plan));
  const altered = [
    ...(await verifyRunDirectory(runDirectory)),
    ...(await findAlteredFiles(runDirectory, rendered)),
  ];
  if (altered.length > 0)
    refuseIfAny([
      {
        code: "run_dir_unsafe",
        path: runDirectory.path,
        message: `changed before the start: ${altered.join(", ")}`,
        hint: "",
      },
    ]);
}

function endsNotCounted(events: readonly string[]): { code: string; message: string } {
  const message = `hooks of this machine's policy run on ${events.join(", ")} too; which hook's end is whose is not told, so ends are not counted there`;
  return { code: "ends_not_counted", message };
}

/** Waits until the canary has come through shim and broker. Throws `attestation_failed` when it does not. */
async function awaitCanary(
  { attestation, deadlines, options }: RunScope,
  child: ProviderChild,
  signal: AbortSignal,
): Promise<void> {
  const late = new Promise<"late">((resolve) => {
    if (signal.aborted) resolve("late");
    signal.addEventListener("abort", () => resolve("late"), { once: true });
  });
  const gone = child.exited.then(() => "gone" as const);
  const how = await Promise.race([attestation.canary.then(() => "came" as const), gone, late]);
  if (how === "came") return;
  options.signal?.throwIfAborted();
  const message =
    how === "gone"
      ? `the agent ended before the canary came: its ${CANARY_EVENT} hook never reached the broker`
      : `the canary did not come within ${deadlines.attestMs} ms: the agent's ${CANARY_EVENT} hook never reached the broker`;
  refuseIfAny([{ code: "attestation_failed", path: "canary", message, hint: "no prompt was sent" }]);
}
