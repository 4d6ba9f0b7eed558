// What is done between the end of the tree and agent_exit: the last look at the evidence, then everything of the run is put away.

import type { Broker } from "../broker/broker.ts";
import type { CallbackChannel } from "../broker/callback-channel.ts";
import { verifyRunDirectory } from "../broker/run-directory-identity.ts";
import { reach } from "../journal/steps.ts";
import { stateDirectory } from "../receipts/writer.ts";
import type { Closing } from "./life.ts";
import type { RunScope } from "./run-scope.ts";
import { fingerprintGates, saveSession } from "./session-record.ts";
import type { RunLayout } from "./set-up.ts";
import type { StreamSummary } from "./supervise.ts";
import type { SessionWatch } from "./watch-codex-session.ts";

/** What has been opened for a run so far. */
export interface OpenParts {
  layout?: RunLayout;
  broker?: Broker;
  callbacks?: CallbackChannel | undefined;
  session?: SessionWatch | undefined;
  /** Stops watching the working directory. */
  closeWatch?: () => void;
  /** Undefined while no agent was started. */
  summary?: StreamSummary;
}

/** Never rejects: what goes wrong is a fault, or a warning of the result. */
export async function closeRun(scope: RunScope, parts: OpenParts): ReturnType<Closing["close"]> {
  const { runtime, receipts, attestation, redactor } = scope;
  const faults: string[] = [];
  const attempt = async (step: () => unknown) => {
    try {
      await step();
    } catch (error) {
      const detail = redactor.text(String(error));
      receipts.write({ kind: "fault", fault: "close_failed", detail });
      faults.push(`close_failed: ${detail}`);
    }
  };
  reach("tree_gone", scope.runId);
  parts.closeWatch?.();
  await attempt(async () => {
    if (parts.layout === undefined || parts.summary === undefined) return;
    for (const detail of await verifyRunDirectory(parts.layout.runDirectory)) {
      receipts.write({ kind: "fault", fault: "tampered", detail });
      faults.push(`tampered: ${detail}`);
    }
  });
  // Before the home goes away: what was written since the last look.
  await attempt(() => faults.push(...(parts.session?.close() ?? [])));
  await attempt(() => parts.broker?.close());
  await attempt(() => parts.callbacks?.close());
  await attempt(() => runtime.settle());
  await attempt(() => tidy(scope, parts));
  reach("run_directory_removed", scope.runId);
  return { isPromptDenied: runtime.isPromptDenied, faults, doubts: attestation.doubts() };
}

async function tidy({ plan, options, runOptions, warnings }: RunScope, parts: OpenParts): Promise<void> {
  const { layout, summary } = parts;
  if (layout === undefined) return;
  const warn = (code: string) => (error: unknown) => void warnings.push({ code, message: String(error) });
  if (options.keepSession === true && summary?.providerSessionId !== undefined) {
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
