// Plays a case in the rendered form without Bridle's broker: something else stands in the shim's place.

import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { HookPlan } from "../../compiler/plan.ts";
import type { EventName } from "../../profile/events.ts";
import type { RenderedRun } from "../../render/provider.ts";
import { adapterFor } from "../../render/registry.ts";
import { startChild } from "../../spawn/child.ts";
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

/** In the rendered form, with the case's `shim` in the place of Bridle's: shows what the CLI makes of a broken guard path. */
export async function playHandlerForm(options: PlayOptions): Promise<Observation> {
  const { item, stage } = options;
  const provider = providerOf(item.column);
  const adapter = adapterFor(provider);
  const runDir = join(stage.root, "run");
  const shimPath = join(runDir, "s", "shim");
  await mkdir(join(runDir, "home"), { recursive: true });
  await placeShim(shimPath, item, stage);
  const plan = await planFor(item, stage);
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
    const settled = await runCli(options, { rendered, url: server.url, input: bytes, closesStdin: end });
    return { ...seenBy(server), refusal: undefined, hooks: undefined, warnings: [], receipt: "", ...settled };
  });
}

/**
 * Lets a stand-in signal its shells whichever form calls it: `$outer` is the one that the CLI started, which reads the stand-in in a
 * subshell (four arguments) or starts another shell for it; `kill_self` ends the shell that runs the stand-in.
 */
const SHELLS_OF_THE_STAND_IN = `outer=$PPID
if [ $# = 4 ]; then outer=$$; fi
kill_self() { /bin/sh -c 'kill -9 $PPID'; }
`;

async function placeShim(path: string, { shim = "" }: MatrixCase, stage: Stage): Promise<void> {
  await mkdir(dirname(path));
  if (typeof shim === "string")
    await writeFile(path, `${SHELLS_OF_THE_STAND_IN}${stage.expand(shim)}\n`, { mode: 0o500 });
  else if (shim.is === "directory") await mkdir(path);
  else if (shim.is === "empty") await writeFile(path, "", { mode: 0o500 });
}

/** What rendering reads, without compile's own checks: what a CLI does that compile would refuse is to be seen, too. */
async function planFor({ column, hooks = { PreToolUse: [] } }: MatrixCase, stage: Stage): Promise<HookPlan> {
  const events = Object.keys(hooks) as EventName[];
  const provider = providerOf(column);
  return {
    provider,
    binary: { provider, identity: await identifyFile("/bin/sh"), version: "0.0.0", companions: [] },
    projectRoot: stage.project,
    entries: [],
    events,
    deadlines: Object.fromEntries(events.map((event) => [event, { providerSeconds: 3, shimSeconds: 2 }])),
    hookPath: toolPath(),
    prove: "off",
    proof: undefined,
    downgrades: [],
    skipped: [],
    provenance: {},
    digest: "",
  };
}

/** To its final message and exit; nothing but the clock ends it, so that what did not happen was kept from happening by the CLI. */
async function runCli(
  options: PlayOptions,
  {
    rendered,
    url,
    input,
    closesStdin,
  }: { rendered: RenderedRun; url: string; input: string; closesStdin: boolean },
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
  const framer = createLineFramer({
    onLine: (line) => {
      for (const event of parser.push(line)) {
        if (event.type !== "result") continue;
        outcome = event.status;
        child.stdin.end();
      }
    },
    onOverflow: () => {}, // a line too long to read is no final message
  });
  child.stdout.on("data", (chunk: Buffer) => framer.push(chunk));
  child.stdin.write(input);
  if (closesStdin) child.stdin.end();
  const { code, signal } = await endOf(child, options.signal);
  await endTree(child, marker);
  return { outcome, reason: `exit ${code ?? signal}` };
}
