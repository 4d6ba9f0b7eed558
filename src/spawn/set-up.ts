// Lays out one run on disk: run directory, provider home, rendered files, environment. Everything it makes is undone by `remove`.

import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createRunDirectory, type RunDirectory } from "../broker/run-directory.ts";
import { orUnavailable } from "../broker/run-directory-unavailable.ts";
import type { HookPlan } from "../compiler/plan.ts";
import { reach } from "../journal/steps.ts";
import { makeDirectories } from "../make-directories.ts";
import { stateDirectory } from "../receipts/writer.ts";
import type { ProviderAdapter, RenderedRun, RunContext, RunOptions } from "../render/provider.ts";
import { type Ambient, findProjectRoot, scanAmbient } from "./ambient.ts";
import { type AgentEnvironment, buildAgentEnvironment, nestMarker } from "./environment.ts";
import { prepareProviderHome } from "./home.ts";
import type { SpawnOptions } from "./options.ts";
import { loadSession, sessionsDirectory } from "./session-record.ts";
import { makeTmpDir, temporaryFolder } from "./tmp-dir.ts";

export interface RunLayout {
  readonly runDirectory: RunDirectory;
  readonly context: RunContext;
  readonly rendered: RenderedRun;
  readonly environment: AgentEnvironment;
  readonly ambient: Ambient;
  remove(): Promise<void>;
}

export interface SetUpOptions {
  readonly plan: HookPlan;
  readonly adapter: ProviderAdapter;
  readonly options: SpawnOptions;
  readonly runOptions: RunOptions;
  readonly runId: string;
  readonly sessionId: string;
  readonly marker: string;
}

const HOME_HINT = "set XDG_STATE_HOME to a folder that you may write, on a disk with space";

/** @throws AgentHooksRefused `run_dir_unsafe`, `run_dir_unavailable`, `run_home_unsafe`, `resume_mismatch`. */
export async function setUpRun({
  plan,
  adapter,
  options,
  runOptions,
  runId,
  sessionId,
  marker,
}: SetUpOptions): Promise<RunLayout> {
  const env = options.baseEnv ?? process.env;
  const stateDir = stateDirectory(env);
  const temp = temporaryFolder(options);
  const { cwd } = runOptions;
  const home = await chooseHome({ plan, options, cwd, runId, stateDir });
  const scanned = scanAmbient({
    provider: plan.provider,
    cwd,
    env,
    wantsRules: options.admit?.denyRules ?? true,
    wantsInstructions: (options.admit?.instructions ?? "project") === "project",
  });
  scanned.catch(() => {}); // awaited below; a failure before that must not be reported as unhandled
  const tmpDir = await orUnavailable(temp, "set TMPDIR to a folder that you may write", () =>
    makeTmpDir(options, runId),
  );
  const undo: (() => Promise<unknown>)[] = [() => rm(tmpDir, { recursive: true, force: true })];
  const remove = async () => {
    for (const step of undo.reverse()) await step();
    undo.length = 0;
  };
  try {
    reach("temporary_directory_made", runId);
    const parent = options.runDirParent === undefined ? {} : { parent: options.runDirParent };
    // A sandboxed agent may write below the TMPDIR it is given, which need not be ours.
    const forbidden = [...(options.addDirs ?? []), temp];
    const runDirectory = await createRunDirectory({ runId, cwd, forbidden, env, ...parent });
    undo.push(() => runDirectory.remove());
    const providerHome = home ?? join(runDirectory.path, "home");
    await orUnavailable(providerHome, HOME_HINT, () =>
      prepareProviderHome({
        provider: plan.provider,
        path: providerHome,
        configHome: runOptions.configHome ?? "user",
        env,
      }),
    );
    const ambient = await scanned;
    const instructions = ambient.instructions === undefined ? {} : { instructions: ambient.instructions };
    const { narrowingRules } = ambient;
    const kept = Object.keys(narrowingRules).length === 0 ? {} : { narrowingRules };
    const context: RunContext = {
      runId,
      sessionId,
      runDir: runDirectory.path,
      shimPath: runDirectory.shimPath,
      providerHome,
      tmpDir,
      options: { ...runOptions, ...instructions, ...kept, denyRules: ambient.denyRules },
      projectRoot: await findProjectRoot(cwd),
      marker: nestMarker(env, marker),
    };
    const rendered = adapter.materialise(plan, context);
    await orUnavailable(providerHome, HOME_HINT, () =>
      writeFiles(runDirectory, rendered, providerHome, home === undefined),
    );
    const environment = buildAgentEnvironment({
      base: env,
      credentialNames: adapter.credentialEnv,
      passEnv: options.passEnv ?? [],
      extra: options.env ?? {},
      rendered: rendered.env,
      proxies: options.proxies ?? false,
      marker,
    });
    return { runDirectory, context, rendered, environment, ambient, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** A session that is to be resumed needs a home that outlives the run; undefined: inside the run directory. */
async function chooseHome({
  plan,
  options: { resume, keepSession, allowHookChange = false },
  cwd,
  runId,
  stateDir,
}: {
  plan: HookPlan;
  options: SpawnOptions;
  cwd: string;
  runId: string;
  stateDir: string;
}): Promise<string | undefined> {
  if (resume !== undefined) {
    return (await loadSession({ stateDir, providerSessionId: resume, plan, cwd, allowHookChange })).home;
  }
  if (keepSession !== true) return undefined;
  const home = join(sessionsDirectory(stateDir), `home-${runId}`);
  await orUnavailable(home, HOME_HINT, () => makeDirectories(home));
  return home;
}

/** Files below `home/` go into the provider home, wherever that is; all others into the run directory. */
async function writeFiles(
  runDirectory: RunDirectory,
  { files }: RenderedRun,
  providerHome: string,
  isHomeInside: boolean,
): Promise<void> {
  for (const { path, content, mode } of files) {
    if (isHomeInside || !path.startsWith("home/")) await runDirectory.write(path, content, mode);
    else {
      const target = join(providerHome, path.slice("home/".length));
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await writeFile(target, content, { mode });
      await chmod(target, mode);
    }
  }
}

/** The bytes on disk are the bytes rendered. Returns the paths that differ. */
export async function findAlteredFiles(
  runDirectory: RunDirectory,
  { files }: RenderedRun,
): Promise<string[]> {
  const altered: string[] = [];
  for (const { path, content } of files) {
    if (path.startsWith("home/")) continue;
    const now = await readFile(join(runDirectory.path, path), "utf8").catch(() => undefined);
    if (now !== content) altered.push(path);
  }
  return altered;
}
