// What a plan would start: argv, files with modes, variables, and why each is there. Starts and writes nothing.

import type { EventName } from "../profile/events.ts";
import type { RunOptions } from "../render/provider.ts";
import { adapterFor } from "../render/registry.ts";
import { listStricterForms, type StricterForm } from "../render/stricter-forms.ts";
import type { HookPlan, Transport } from "./plan.ts";
import type { HookDescription } from "./token.ts";

export interface ExplainedRun {
  readonly token: HookDescription;
  readonly program: string;
  readonly argv: readonly string[];
  readonly why: readonly { readonly arg: string; readonly why: string }[];
  readonly preflight: string;
  readonly files: readonly {
    readonly path: string;
    readonly mode: string;
    readonly why: string;
    readonly content: string;
  }[];
  /** Set by Bridle itself; the allowlist adds what the caller's environment holds. */
  readonly env: readonly { readonly name: string; readonly why: string }[];
  /** Stricter forms rendered in the place of one that is not honoured, and what is off because no guard would be asked. */
  readonly stricterForms: readonly StricterForm[];
  /** Of every rendered event: how it is asked, and how long it may take. */
  readonly deadlines: readonly {
    readonly event: string;
    readonly transport: Transport;
    readonly providerSeconds: number;
    readonly shimSeconds: number;
  }[];
}

/** Placeholders stand for what each run makes anew. */
const PLACEHOLDER = {
  runDir: "/RUN_DIR",
  id: "00000000-0000-4000-8000-000000000000",
  tmp: "/RUN_TMP",
} as const;

export type ExplainPlan = (plan: HookPlan, token: HookDescription, options: RunOptions) => ExplainedRun;

/** @param options the run's own options; only `cwd` is needed */
export const explainPlan: ExplainPlan = (plan, token, options) => {
  const adapter = adapterFor(plan.provider);
  const { runDir, id, tmp } = PLACEHOLDER;
  const rendered = adapter.materialise(plan, {
    runId: id,
    sessionId: id,
    runDir,
    shimPath: `${runDir}/s/shim`,
    providerHome: `${runDir}/home`,
    tmpDir: tmp,
    options,
    projectRoot: options.cwd,
    marker: id,
  });
  return {
    token,
    program: plan.binary.identity.path,
    argv: rendered.argv,
    why: rendered.why,
    preflight:
      rendered.preflightArgv === undefined
        ? "over the CLI's own control channel, before the prompt"
        : rendered.preflightArgv.join(" "),
    files: rendered.files.map(({ path, mode, why, content }) => ({
      path,
      mode: mode.toString(8).padStart(4, "0"),
      why,
      content,
    })),
    env: Object.entries(rendered.env).map(([name, { why }]) => ({ name, why })),
    stricterForms: listStricterForms(plan, options),
    deadlines: Object.entries(plan.deadlines).map(([event, deadline]) => ({
      event,
      transport: plan.transports[event as EventName] ?? "shim",
      ...deadline,
    })),
  };
};
