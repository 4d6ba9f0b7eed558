// From the hand-over of the prompt to the result: waits for the end of the tree, looks whether anything was tampered with, tidies up,
// settles and fires agent_exit.

import type { Broker } from "../broker/broker.ts";
import { verifyRunDirectory } from "../broker/run-directory-identity.ts";
import { reach } from "../journal/steps.ts";
import { stateDirectory } from "../receipts/writer.ts";
import type { PreflightReport } from "../render/provider.ts";
import type { ProviderChild } from "./child.ts";
import type { Finish } from "./finish.ts";
import type { RunResult } from "./result.ts";
import type { RunScope } from "./run-scope.ts";
import { fingerprintGates, saveSession } from "./session-record.ts";
import type { RunLayout } from "./set-up.ts";
import { settleRun } from "./settle.ts";
import type { Supervision } from "./supervise.ts";
import type { SessionWatch } from "./watch-codex-session.ts";

export interface LiveRun {
  readonly layout: RunLayout;
  readonly broker: Broker;
  readonly child: ProviderChild;
  readonly supervision: Supervision;
  readonly report: PreflightReport;
  readonly finish: Finish;
  readonly session: SessionWatch | undefined;
}

/** From the hand-over to the result. Never rejects: what goes wrong at the end is said in the result. */
export async function superviseToEnd(
  scope: RunScope,
  { layout, broker, child, supervision, report, finish, session }: LiveRun,
): Promise<RunResult> {
  const { runtime, receipts, attestation } = scope;
  const { exit, extinction, isTruncated, stopCause } = await supervision.ended;
  reach("tree_gone", scope.runId);
  const faults = (await verifyRunDirectory(layout.runDirectory)).map((detail) => `tampered: ${detail}`);
  for (const detail of faults) receipts.write({ kind: "fault", fault: "tampered", detail });
  // Before the home goes away: what was written since the last look.
  faults.push(...(session?.close() ?? []));
  await broker.close();
  await runtime.settle();
  await tidy(scope, layout, supervision);
  reach("run_directory_removed", scope.runId);
  const settlement = settleRun({
    finalMessage: supervision.summary.finalMessage,
    isPromptDenied: runtime.isPromptDenied,
    exitCode: exit.code,
    signal: exit.signal,
    spawnError: undefined,
    stopCause,
    isTruncated,
    isAttested: report.issues.length === 0,
    faults,
    doubts: attestation.doubts(),
  });
  return finish({
    settlement,
    exit,
    extinction,
    stderr: child.stderrTail(),
    summary: supervision.summary,
    report,
  });
}

async function tidy(
  { plan, options, runOptions, warnings }: RunScope,
  layout: RunLayout,
  { summary }: Supervision,
): Promise<void> {
  const warn = (code: string) => (error: unknown) => void warnings.push({ code, message: String(error) });
  if (options.keepSession === true && summary.providerSessionId !== undefined) {
    const { provider, digest } = plan;
    const record = {
      provider,
      cwd: runOptions.cwd,
      digest,
      gates: fingerprintGates(plan),
      home: layout.context.providerHome,
    };
    await saveSession(stateDirectory(options.baseEnv), summary.providerSessionId, record).catch(
      warn("session_not_recorded"),
    );
  }
  await layout.remove().catch(warn("run_directory_left"));
}
