// The first lines of a run's receipts: what was asked for, and what was rendered for it.

import { reach } from "../journal/steps.ts";
import { createReceiptWriter, stateDirectory } from "../receipts/writer.ts";
import type { RunScope } from "./run-scope.ts";
import type { RunLayout } from "./set-up.ts";

/** Opens the receipts. From here each line is written as it comes. */
export async function admitReceipts(
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

export function noteLayout(
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
