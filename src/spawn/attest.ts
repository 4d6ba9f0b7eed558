// Starts the CLI and has it show that our hooks, and only ours, are live.

import { verifyRunDirectory } from "../broker/run-directory-identity.ts";
import { refuseIfAny } from "../errors.ts";
import type { PreflightReport } from "../render/provider.ts";
import { type ProviderChild, startChild } from "./child.ts";
import { refuseDotEnv } from "./home.ts";
import { checkBytes } from "./precheck.ts";
import { channelOfChild, channelOfOwnProcess, createLineHub } from "./preflight-channel.ts";
import type { RunScope } from "./run-scope.ts";
import { findAlteredFiles, type RunLayout } from "./set-up.ts";
import { type Supervision, superviseChild } from "./supervise.ts";

export interface Started {
  readonly child: ProviderChild;
  readonly supervision: Supervision;
  readonly report: PreflightReport;
}

/** Starts the CLI and attests the hooks: claude over the started CLI's own pipes, codex by a process of its own before it. */
export async function startAttested(
  scope: RunScope,
  layout: RunLayout,
  onEvent: Parameters<typeof superviseChild>[0]["onEvent"],
  /** Awaited before the first output is read. */
  onStarted: (child: ProviderChild) => Promise<void>,
): Promise<Started> {
  const { plan, adapter, deadlines, receipts, redactor, options, ender, runId } = scope;
  const { rendered, context, environment, runDirectory } = layout;
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
    return report;
  };

  const ownReport =
    rendered.preflightArgv === undefined ? undefined : await attest(channelOfOwnProcess(start, signal));
  if (plan.provider === "codex") await refuseDotEnv(context.providerHome);
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

  const child = await startChild({ ...start, argv: rendered.argv });
  await onStarted(child);
  const lines = createLineHub();
  const supervision = superviseChild({
    child,
    adapter,
    deadlines,
    marker: runId,
    lines,
    onEvent,
    redact: redactor.text,
  });
  ender.end = supervision.end;
  const report = ownReport ?? (await attest(channelOfChild(child, lines, signal)));
  return { child, supervision, report };
}
