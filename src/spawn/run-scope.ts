// What the steps of one run share: made once, before agent_prompt.

import { randomUUID } from "node:crypto";
import { countCalls } from "../broker/decide-call.ts";
import type { HookPlan } from "../compiler/plan.ts";
import { pathOutside } from "../compiler/resolve-command.ts";
import { listWarnings } from "../compiler/warnings.ts";
import { buildHookEnv } from "../exec/hook-env.ts";
import { isJsonObject, type Json } from "../json.ts";
import type { EnvelopeContext } from "../profile/envelope-types.ts";
import { entrySecrets } from "../redaction/declared-secrets.ts";
import { isSecretName } from "../redaction/patterns.ts";
import { createRedactor, type Redactor } from "../redaction/redactor.ts";
import type { ProviderAdapter, RunOptions } from "../render/provider.ts";
import { beginTrace, type RunTrace } from "../trace/run-tracer.ts";
import { type Attestation, createAttestation } from "./attestation.ts";
import { type ResolvedDeadlines, resolveDeadlines } from "./deadlines.ts";
import { createHookRuntime, type HookRuntime } from "./hook-runtime.ts";
import type { NamespaceRecipe } from "./namespace-recipe.ts";
import type { SpawnOptions } from "./options.ts";
import { type BufferedReceipts, bufferReceipts } from "./receipt-buffer.ts";
import type { StopCause } from "./settle.ts";
import { temporaryFolder } from "./tmp-dir.ts";

export interface RunScope {
  readonly plan: HookPlan;
  readonly adapter: ProviderAdapter;
  readonly options: SpawnOptions;
  readonly runOptions: RunOptions;
  readonly deadlines: ResolvedDeadlines;
  readonly runId: string;
  /** Of the PID namespace that the agent is to live in; undefined: in none. */
  readonly recipe: NamespaceRecipe | undefined;
  readonly sessionId: string;
  readonly redactor: Redactor;
  readonly receipts: BufferedReceipts;
  readonly runtime: HookRuntime;
  readonly attestation: Attestation;
  /** Numbers hook calls, whichever way they come. */
  readonly nextCallId: () => number;
  /** Ids of calls that were not answered in time. */
  readonly lateCalls: Set<number>;
  /** PATH of every hook of this run. */
  readonly hookPath: string;
  readonly warnings: { code: string; message: string }[];
  /** Told every line of the receipts; does nothing when none is wanted. */
  readonly trace: RunTrace;
  /** Set once it is made. */
  readonly made: { runDirectory: string | undefined };
  /** Set once there is something to end. */
  readonly ender: { end(cause: StopCause): void; isEnding(): boolean };
}

export function createScope(
  base: Pick<RunScope, "plan" | "adapter" | "options" | "runOptions" | "runId" | "recipe">,
  onHook: Parameters<typeof createHookRuntime>[0]["onHook"],
): RunScope {
  const { plan, adapter, options, runOptions, runId } = base;
  const env = options.baseEnv ?? process.env;
  const sessionId =
    plan.provider === "claude" && options.resume !== undefined ? options.resume : randomUUID();
  const redactor = createRedactor({
    env: { ...env, ...options.env },
    values: [
      ...(options.secrets ?? []),
      ...plan.entries.flatMap((entry) => entrySecrets(entry, env)),
      ...serverSecrets(options.mcpServers),
    ],
  });
  const temp = temporaryFolder(options);
  const writable = [options.cwd, runOptions.cwd, ...(options.addDirs ?? []), temp];
  const warnings: RunScope["warnings"] = [...listWarnings(plan)];
  const trace = beginTrace(
    options.trace,
    { runId, sessionId, ...describeAgent(plan, options), env },
    (error) => warnings.push({ code: "trace_failed", message: redactor.text(String(error)) }),
  );
  const receipts = bufferReceipts(trace.note);
  const made: RunScope["made"] = { runDirectory: undefined };
  const ender: RunScope["ender"] = { end: () => {}, isEnding: () => false };
  const context: EnvelopeContext = {
    provider: plan.provider,
    sessionId,
    runId,
    cwd: runOptions.cwd,
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.permissionMode === undefined ? {} : { permissionMode: options.permissionMode }),
  };
  const attestation = createAttestation(plan);
  const hookPath = pathOutside(plan.hookPath, writable);
  const runtime = createHookRuntime({
    plan,
    attestation,
    adapter,
    context,
    hookEnv: {
      ...buildHookEnv({
        hookPath,
        base: env,
        projectDir: plan.projectRoot,
        runId,
        entryEnv: {},
        marker: runId,
      }),
      ...trace.env,
    },
    marker: runId,
    env,
    runDirectory: () => made.runDirectory,
    receipts,
    redactor,
    onHook,
    isEnding: () => ender.isEnding(),
    onUnenforced: (reason) => ender.end({ kind: "unenforced", reason }),
    onHookLoop: (reason) => ender.end({ kind: "hook_loop", reason }),
  });
  const deadlines = resolveDeadlines(options.deadlines);
  return {
    ...base,
    deadlines,
    sessionId,
    redactor,
    receipts,
    runtime,
    attestation,
    nextCallId: countCalls(),
    lateCalls: new Set(),
    hookPath,
    warnings,
    trace,
    made,
    ender,
  };
}

function describeAgent({ provider, binary }: HookPlan, { model }: SpawnOptions) {
  return { provider, providerVersion: binary.version, model };
}

/** The headers of an MCP server but the plain ones, with and without its scheme, and the variables whose names say so. */
function serverSecrets(servers: SpawnOptions["mcpServers"] = {}): string[] {
  const valuesOf = (value: Json | undefined, isSecret: (name: string) => boolean) =>
    Object.entries(isJsonObject(value) ? value : {}).flatMap(([name, text]) =>
      typeof text === "string" && isSecret(name) ? [text, text.slice(text.indexOf(" ") + 1)] : [],
    );
  return Object.values(servers).flatMap(({ headers, env }) => [
    ...valuesOf(headers, (name) => !/^(?:accept|content-type|user-agent)/i.test(name)),
    ...valuesOf(env, isSecretName),
  ]);
}
