// Lays out one run on disk: run directory, provider home, rendered files, environment. Everything it makes is undone by `remove`.

import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type CreateRunDirectoryOptions,
  createRunDirectory,
  planRunDirectory,
  type RunDirectory,
  type WriteFile,
} from "../broker/run-directory.ts";
import { orUnavailable } from "../broker/run-directory-unavailable.ts";
import { SHIM_LAYOUT } from "../broker/shim.ts";
import type { HookPlan } from "../compiler/plan.ts";
import { reach } from "../journal/steps.ts";
import { readIfSmall } from "../look.ts";
import { makeDirectories } from "../make-directories.ts";
import { stateDirectory } from "../receipts/writer.ts";
import type {
  ProviderAdapter,
  RenderedEnv,
  RenderedRun,
  RunContext,
  RunOptions,
} from "../render/provider.ts";
import { settleAll } from "../settle-all.ts";
import type { RunTrace } from "../trace/run-tracer.ts";
import { type Ambient, scanAmbient } from "./ambient.ts";
import { type AgentEnvironment, buildAgentEnvironment, nestMarker } from "./environment.ts";
import { prepareProviderHome } from "./home.ts";
import type { SpawnOptions } from "./options.ts";
import { loadSession, sessionsDirectory } from "./session-record.ts";
import { makeTmpDir, planTmpDir, temporaryFolder } from "./tmp-dir.ts";

/** Everything about a run that is known before anything of it is made. */
export interface RunPlan {
  readonly context: RunContext;
  readonly rendered: RenderedRun;
  readonly environment: AgentEnvironment;
  readonly ambient: Ambient;
}

export interface RunLayout extends RunPlan {
  readonly runDirectory: RunDirectory;
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
  readonly trace?: Pick<RunTrace, "env">;
}

const TEMP_HINT = "set TMPDIR to a folder that you may write";
const HOME_HINT = "set XDG_STATE_HOME to a folder that you may write, on a disk with space";

/** Finds what stands around the run. Nothing is made, so that it may be asked before the run is on record. */
export function lookAround({ plan, options, runOptions }: SetUpOptions): Promise<Ambient> {
  const looking = scanAmbient({
    provider: plan.provider,
    cwd: runOptions.cwd,
    env: options.baseEnv ?? process.env,
    wantsRules: options.admit?.denyRules ?? true,
    wantsInstructions: (options.admit?.instructions ?? "project") === "project",
  });
  looking.catch(() => {}); // not unhandled: it is awaited later, if at all
  return looking;
}

function directoryOptions({ options, runOptions: { cwd }, runId }: SetUpOptions): CreateRunDirectoryOptions {
  const parent = options.runDirParent === undefined ? {} : { parent: options.runDirParent };
  // A sandboxed agent may write below the TMPDIR it is given, which need not be ours.
  const forbidden = [...(options.addDirs ?? []), temporaryFolder(options)];
  return { runId, cwd, forbidden, env: options.baseEnv ?? process.env, ...parent };
}

/**
 * Says where everything will be and what will be in it. Only looks.
 *
 * @param around what `lookAround` says of the same options. @default asked now
 * @throws AgentHooksRefused `run_dir_unsafe`, `run_dir_unavailable`, `resume_mismatch`.
 */
export async function planRun(setUp: SetUpOptions, around = lookAround(setUp)): Promise<RunPlan> {
  const { plan, adapter, options, runOptions, runId, sessionId, marker } = setUp;
  const env = options.baseEnv ?? process.env;
  const home = await chooseHome(setUp);
  const tmpDir = await orUnavailable(temporaryFolder(options), TEMP_HINT, async () =>
    planTmpDir(options, runId),
  );
  const planned = planRunDirectory(directoryOptions(setUp));
  const ambient = await around;
  const instructions = ambient.instructions === undefined ? {} : { instructions: ambient.instructions };
  const { narrowingRules } = ambient;
  const kept = Object.keys(narrowingRules).length === 0 ? {} : { narrowingRules };
  const context: RunContext = {
    runId,
    sessionId,
    runDir: planned.path,
    shimPath: join(planned.path, SHIM_LAYOUT.shim),
    providerHome: home ?? join(planned.path, "home"),
    tmpDir,
    options: { ...runOptions, ...instructions, ...kept, denyRules: ambient.denyRules },
    projectRoot: ambient.projectRoot,
    marker: nestMarker(env, marker),
  };
  const rendered = adapter.materialise(plan, context);
  const environment = buildAgentEnvironment({
    base: env,
    credentialNames: adapter.credentialEnv,
    passEnv: options.passEnv ?? [],
    extra: options.env ?? {},
    rendered: { ...rendered.env, ...placeInTrace(setUp.trace?.env ?? {}) },
    proxies: options.proxies ?? false,
    marker,
  });
  return { context, rendered, environment, ambient };
}

/** @throws AgentHooksRefused `run_dir_unsafe`, `run_dir_unavailable`, `run_home_unsafe`. */
export async function makeRun(setUp: SetUpOptions, planned: RunPlan): Promise<RunLayout> {
  const { plan, options, runOptions, runId } = setUp;
  const env = options.baseEnv ?? process.env;
  const { context, rendered } = planned;
  const { tmpDir, runDir, providerHome } = context;
  const isHomeInside = providerHome === join(runDir, "home");
  const fillHome = (write: WriteFile) =>
    orUnavailable(providerHome, HOME_HINT, async () => {
      if (!isHomeInside) await makeDirectories(providerHome);
      const configHome = runOptions.configHome ?? "user";
      await prepareProviderHome({ provider: plan.provider, path: providerHome, configHome, env });
      await writeFiles(write, rendered, providerHome, isHomeInside);
    });

  // Last made, first removed.
  const undo: (() => Promise<unknown>)[] = [];
  const remove = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const [, runDirectory] = await settleAll([
      orUnavailable(temporaryFolder(options), TEMP_HINT, () => makeTmpDir(tmpDir)).then(() => {
        undo.push(() => rm(tmpDir, { recursive: true, force: true }));
        reach("temporary_directory_made", runId);
      }),
      createRunDirectory(directoryOptions(setUp), { parent: dirname(runDir), path: runDir }, fillHome).then(
        (made) => {
          undo.push(() => made.remove());
          return made;
        },
      ),
    ]);
    return { ...planned, runDirectory, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function placeInTrace(env: Readonly<Record<string, string>>): Record<string, RenderedEnv> {
  const why = "the run's place in a trace";
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, { value, why }]));
}

/** A session that is to be resumed needs a home that outlives the run; undefined: inside the run directory. */
async function chooseHome({ plan, options, runOptions, runId }: SetUpOptions): Promise<string | undefined> {
  const { resume, keepSession, allowHookChange = false } = options;
  const stateDir = stateDirectory(options.baseEnv);
  if (resume !== undefined) {
    const { cwd } = runOptions;
    return (await loadSession({ stateDir, providerSessionId: resume, plan, cwd, allowHookChange })).home;
  }
  return keepSession === true ? join(sessionsDirectory(stateDir), `home-${runId}`) : undefined;
}

/** Files below `home/` go into the provider home, wherever that is; all others into the run directory. */
async function writeFiles(
  write: WriteFile,
  { files }: RenderedRun,
  providerHome: string,
  isHomeInside: boolean,
): Promise<void> {
  const writeOne = async ({ path, content, mode }: RenderedRun["files"][number]) => {
    if (isHomeInside || !path.startsWith("home/")) return void (await write(path, content, mode));
    const target = join(providerHome, path.slice("home/".length));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, content, { mode });
    await chmod(target, mode);
  };
  await settleAll(files.map(writeOne));
}

/** The bytes on disk are the bytes rendered. Returns the paths that differ. */
export async function findAlteredFiles(
  runDirectory: RunDirectory,
  { files }: RenderedRun,
): Promise<string[]> {
  const inside = files.filter(({ path }) => !path.startsWith("home/"));
  const isAltered = await Promise.all(
    inside.map(({ path, content }) => hasOtherText(join(runDirectory.path, path), content)),
  );
  return inside.filter((_, index) => isAltered[index]).map(({ path }) => path);
}

async function hasOtherText(path: string, content: string): Promise<boolean> {
  if (readIfSmall(path) === content) return false;
  return (await readFile(path, "utf8").catch(() => undefined)) !== content;
}
