// Renders one run and lets its adapter attest it, without the rest of Bridle: no broker, no prompt, no model.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { HookPlan } from "../../src/compiler/plan.ts";
import { planOf } from "../../src/compiler/token.ts";
import { signalGroup } from "../../src/exec/process-group.ts";
import { compileAgentHooks, type HookDeclaration, type Provider } from "../../src/index.ts";
import type { EventName } from "../../src/profile/events.ts";
import type { PreflightReport, RenderedRun, RunContext, RunOptions } from "../../src/render/provider.ts";
import { adapterFor } from "../../src/render/registry.ts";
import { startChild } from "../../src/spawn/child.ts";
import { createLineFramer } from "../../src/spawn/frame.ts";
import { channelOfChild, channelOfOwnProcess, createLineHub } from "../../src/spawn/preflight-channel.ts";
import { kill } from "../../src/spawn/stop.ts";
import { resolveNativeBinary } from "../binaries.ts";
import { DUMMY_KEY, makeSite, type Site, TOOL_PATH } from "./harness.ts";

const SESSION_ID = "11111111-2222-4333-8444-555555555555";
const ATTEST_MS = 20_000;

export interface Attempt {
  readonly options?: Partial<RunOptions>;
  readonly env?: Readonly<Record<string, string>>;
  readonly prepare?: (site: Site, context: RunContext) => void;
  /** What an attacker or a mistake makes of the rendered run. */
  readonly tamper?: (rendered: RenderedRun, context: RunContext) => RenderedRun;
}

export async function compilePlan(
  provider: Provider,
  events: readonly EventName[],
  cwd: string,
): Promise<HookPlan> {
  const hooks = [{ hooks: [{ type: "function" as const, handler: () => undefined }] }];
  const declaration = Object.fromEntries(events.map((event) => [event, hooks])) as HookDeclaration;
  const binary = resolveNativeBinary(provider);
  return planOf(await compileAgentHooks(declaration, { provider, cwd, binary, prove: "off" }));
}

export async function attest(plan: HookPlan, attempt: Attempt = {}): Promise<PreflightReport> {
  const { provider } = plan;
  const site = makeSite();
  const context = layOut(site, attempt.options);
  const adapter = adapterFor(provider);
  const asRendered = adapter.materialise(plan, context);
  const rendered = attempt.tamper?.(asRendered, context) ?? asRendered;
  for (const { path, content, mode } of rendered.files)
    writeFileSync(join(context.runDir, path), content, { mode });
  attempt.prepare?.(site, context);
  const env: Record<string, string> = {
    PATH: TOOL_PATH,
    HOME: site.home,
    TMPDIR: site.tmp,
    ...(provider === "claude"
      ? { ANTHROPIC_API_KEY: DUMMY_KEY, ANTHROPIC_BASE_URL: "http://127.0.0.1:9" }
      : { CODEX_API_KEY: DUMMY_KEY }),
    ...Object.fromEntries(Object.entries(rendered.env).map(([name, { value }]) => [name, value])),
    ...attempt.env,
  };
  const start = { program: plan.binary.identity.path, env, cwd: site.project };
  const signal = AbortSignal.timeout(ATTEST_MS);
  if (provider === "codex")
    return adapter.preflight(plan, context, rendered, channelOfOwnProcess(start, signal));
  const child = await startChild({ ...start, argv: rendered.argv });
  const lines = createLineHub();
  const framer = createLineFramer({ onLine: lines.emit, onOverflow: () => {} });
  child.stdout.on("data", (chunk: Buffer) => framer.push(chunk));
  try {
    return await adapter.preflight(plan, context, rendered, channelOfChild(child, lines, signal));
  } finally {
    child.stdin.destroy();
    signalGroup(kill, child.groupId, "SIGKILL");
    await child.exited;
  }
}

function layOut({ root, project, tmp }: Site, options: Partial<RunOptions> = {}): RunContext {
  const runDir = join(root, "run");
  const providerHome = join(runDir, "home");
  const shimPath = join(runDir, "s", "shim");
  for (const folder of [dirname(shimPath), providerHome]) mkdirSync(folder, { recursive: true });
  writeFileSync(shimPath, "#!/bin/sh\nexit 0\n", { mode: 0o500 });
  return {
    runId: "run",
    sessionId: SESSION_ID,
    runDir,
    shimPath,
    providerHome,
    tmpDir: tmp,
    options: { cwd: project, configHome: "run", ...options },
    marker: "run",
    projectRoot: project,
  };
}
