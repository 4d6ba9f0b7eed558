// Plays a case in the rendered form without Bridle's own side: something else stands in the place of its shim, or answers its callbacks.

import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { HookPlan, Transport } from "../../compiler/plan.ts";
import type { JsonObject } from "../../json.ts";
import type { EventName } from "../../profile/events.ts";
import type { RenderedRun } from "../../render/provider.ts";
import { adapterFor } from "../../render/registry.ts";
import { type ProviderChild, startChild } from "../../spawn/child.ts";
import { buildAgentEnvironment } from "../../spawn/environment.ts";
import { createLineFramer } from "../../spawn/frame.ts";
import { endTree } from "../../spawn/stop.ts";
import { identifyFile } from "../../trust/identity.ts";
import { loopbackProvider } from "../provider-env.ts";
import { endOf } from "./end-of-child.ts";
import type { Observation } from "./observation.ts";
import { baseEnv, type PlayOptions, providerOf, seenBy, toolPath, withServer } from "./play.ts";
import type { MatrixCase } from "./schema.ts";
import type { Stage } from "./stage.ts";
import { runOptions } from "./translate.ts";

/** What is put in the place of Bridle's own side. */
export interface StandIn {
  readonly transport: Transport;
  /** Makes what stands in the shim's place. */
  readonly placeShim?: (path: string) => Promise<void>;
  /** Talks on the control channel: resolves when the prompt may be handed over. */
  readonly converse?: (child: ProviderChild, plan: HookPlan, control: ControlListener) => Promise<void>;
}

/** Adds a listener for every message of the control channel. */
export type ControlListener = (listener: (payload: JsonObject) => void) => void;

/** In the rendered form, with something else where Bridle's side would be: shows what the CLI makes of a broken guard path. */
export async function playRendered(options: PlayOptions, standIn: StandIn): Promise<Observation> {
  const { item, stage } = options;
  const provider = providerOf(item.column);
  const adapter = adapterFor(provider);
  const runDir = join(stage.root, "run");
  const shimPath = join(runDir, "s", "shim");
  await mkdir(join(runDir, "home"), { recursive: true });
  await mkdir(dirname(shimPath));
  await standIn.placeShim?.(shimPath);
  const plan = await planFor(item, stage, standIn.transport);
  return withServer(options, item.steps ?? [], async (server, prompt) => {
    const { providerConfig } = loopbackProvider(provider, server.url);
    const context = {
      runId: item.id,
      sessionId: "11111111-2222-4333-8444-555555555555",
      runDir,
      shimPath,
      providerHome: join(runDir, "home"),
      tmpDir: stage.tmp,
      options: {
        cwd: stage.project,
        configHome: "run" as const,
        ...runOptions(item, stage, providerConfig),
      },
      marker: item.id,
      projectRoot: stage.project,
    };
    const rendered = adapter.materialise(plan, context);
    for (const { path, content, mode } of rendered.files)
      await writeFile(join(runDir, path), content, { mode });
    const { bytes, end } = adapter.encodePrompt(prompt, context);
    const input = { bytes, closesStdin: end, plan, converse: standIn.converse };
    const settled = await runCli(options, { rendered, url: server.url, ...input });
    return { ...seenBy(server), refusal: undefined, hooks: undefined, warnings: [], receipt: "", ...settled };
  });
}

/** What rendering reads, without compile's own checks: what a CLI does that compile would refuse is to be seen, too. */
async function planFor(
  { column, hooks = { PreToolUse: [] } }: MatrixCase,
  stage: Stage,
  transport: Transport,
): Promise<HookPlan> {
  const events = Object.keys(hooks) as EventName[];
  const provider = providerOf(column);
  return {
    provider,
    binary: { provider, identity: await identifyFile("/bin/sh"), version: "0.0.0", companions: [] },
    projectRoot: stage.project,
    entries: [],
    events,
    deadlines: Object.fromEntries(events.map((event) => [event, { providerSeconds: 3, shimSeconds: 2 }])),
    transports: Object.fromEntries(events.map((event) => [event, transport])),
    hookPath: toolPath(),
    prove: "off",
    proof: undefined,
    downgrades: [],
    skipped: [],
    provenance: {},
    digest: "",
  };
}

interface RenderedInput extends Pick<StandIn, "converse"> {
  readonly rendered: RenderedRun;
  readonly url: string;
  readonly bytes: string;
  readonly closesStdin: boolean;
  readonly plan: HookPlan;
}

/** To its final message and exit; nothing but the clock ends it, so that what did not happen was kept from happening by the CLI. */
async function runCli(
  options: PlayOptions,
  { rendered, url, bytes, closesStdin, plan, converse }: RenderedInput,
): Promise<{ outcome: string; reason: string }> {
  const { item, stage, binary, networkEnv } = options;
  const adapter = adapterFor(providerOf(item.column));
  const marker = basename(stage.root);
  const { env } = buildAgentEnvironment({
    base: baseEnv(options, url),
    credentialNames: adapter.credentialEnv,
    passEnv: Object.keys(networkEnv),
    extra: {},
    rendered: rendered.env,
    proxies: false,
    marker,
  });
  const child = await startChild({ program: binary, argv: rendered.argv, env, cwd: stage.project });
  const parser = adapter.createStreamParser();
  let outcome = "none";
  const listeners: ((payload: JsonObject) => void)[] = [];
  const framer = createLineFramer({
    onLine: (line) => {
      for (const event of parser.push(line)) {
        if (event.type === "control") for (const listener of listeners) listener(event.payload);
        if (event.type !== "result") continue;
        outcome = event.status;
        child.stdin.end();
      }
    },
    onOverflow: () => {}, // a line too long to read is no final message
  });
  child.stdout.on("data", (chunk: Buffer) => framer.push(chunk));
  const handOver = async () => {
    await converse?.(child, plan, (listener) => listeners.push(listener));
    child.stdin.write(bytes);
    if (closesStdin) child.stdin.end();
  };
  let failure: unknown;
  handOver().catch((error: unknown) => {
    failure = error;
    child.stdin.destroy();
  });
  const { code, signal } = await endOf(child, options.signal);
  await endTree(child, marker);
  if (failure !== undefined) throw failure;
  return { outcome, reason: `exit ${code ?? signal}` };
}
