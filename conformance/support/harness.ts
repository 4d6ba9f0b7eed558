// One run of a real CLI under Bridle against a scripted model on loopback, in a throw-away home. What a run did is looked up on
// disk and on the model's side of the wire; the CLI's own word counts for nothing.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type AgentEvent,
  AgentHooksRefused,
  type AgentRun,
  type CompileOptions,
  compileAgentHooks,
  type HookDeclaration,
  type JsonObject,
  type Provider,
  type RenderedHooks,
  type RunResult,
  type SpawnOptions,
  type StampedReceipt,
  spawnAgent,
} from "../../src/index.ts";
import { startAnthropicServer } from "../../src/prove/anthropic-server.ts";
import type { ModelServer } from "../../src/prove/loopback-server.ts";
import { toolPath } from "../../src/prove/matrix/play.ts";
import { NO_GUARD } from "../../src/prove/matrix/play-bridled.ts";
import { startOpenaiServer } from "../../src/prove/openai-server.ts";
import { CLAUDE_MODEL, CODEX_CLASSIC_MODEL, CODEX_CODE_MODE_MODEL } from "../../src/prove/provider-env.ts";
import { type ModelScript, scriptToken, type ToolUse } from "../../src/prove/script.ts";
import { resolveNativeBinary } from "../binaries.ts";

/** One CLI in one of its ways to call tools. */
export interface Column {
  readonly provider: Provider;
  readonly model: string;
  readonly mode: string;
}

export const CLAUDE: Column = { provider: "claude", model: CLAUDE_MODEL, mode: "claude" };
export const CODEX: Column = { provider: "codex", model: CODEX_CLASSIC_MODEL, mode: "codex" };
export const CODEX_CODE_MODE: Column = {
  provider: "codex",
  model: CODEX_CODE_MODE_MODEL,
  mode: "codex, code mode",
};
export const BOTH: readonly Column[] = [CLAUDE, CODEX];
export const ALL: readonly Column[] = [CLAUDE, CODEX, CODEX_CODE_MODE];

/** PATH of agents and guards: the system's tools and this node. */
export const TOOL_PATH = toolPath();
export const DUMMY_KEY = "dummy-key-for-the-loopback-server";

/** The folders of one test. Below the user's cache folder: codex refuses helpers below the temp folder. */
export interface Site {
  readonly root: string;
  readonly home: string;
  readonly project: string;
  /** A folder that neither the project nor the home holds: what guards write. */
  readonly notes: string;
  readonly tmp: string;
  /** Where Bridle keeps receipts, sessions and run directories. */
  readonly state: string;
  /** Path of a file in the project. */
  at(name: string): string;
  has(name: string): boolean;
  /** Text of a file in `notes`; "" when nobody wrote it. */
  note(name: string): string;
  /** Writes a `sh` guard into the project and returns its argv. `$1` is the folder `notes`. */
  guard(source: string, name?: string): string[];
}

export function makeSite(): Site {
  const scratch = join(homedir(), ".cache");
  mkdirSync(scratch, { recursive: true });
  const root = mkdtempSync(join(scratch, "bridle-conformance-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const folder = (name: string): string => {
    mkdirSync(join(root, name));
    return join(root, name);
  };
  const [home, project, notes, tmp] = [folder("home"), folder("project"), folder("notes"), folder("tmp")];
  const at = (name: string): string => join(project, name);
  return {
    root,
    home,
    project,
    notes,
    tmp,
    state: join(home, ".local", "state", "bridle"),
    at,
    has: (name) => existsSync(at(name)),
    note: (name) => (existsSync(join(notes, name)) ? readFileSync(join(notes, name), "utf8") : ""),
    guard(source, name = "guard.sh") {
      writeFileSync(at(name), `${source}\n`);
      return ["/bin/sh", name, notes];
    },
  };
}

export interface GuardedCase {
  readonly column: Column;
  readonly declaration: (site: Site) => HookDeclaration;
  readonly script: (site: Site) => ModelScript;
  readonly options?: (site: Site) => Partial<SpawnOptions>;
  /** Goes on in the folders of an earlier run. */
  readonly site?: Site;
  readonly prompt?: string;
  /** The model's API key. */
  readonly apiKey?: string | undefined;
  /** Added to the environment everything is taken from. */
  readonly baseEnv?: (site: Site) => Readonly<Record<string, string>>;
  /** Binary to compile for. @default the pinned one */
  readonly binary?: (site: Site) => string;
  /** Further options of compile. @default `prove: "off"`: the matrix is what proves */
  readonly compile?: Partial<CompileOptions>;
  /** PATH at compile. @default TOOL_PATH */
  readonly path?: (site: Site) => string;
  readonly prepare?: (site: Site) => void | Promise<void>;
  readonly betweenCompileAndSpawn?: (site: Site, hooks: RenderedHooks) => void | Promise<void>;
  readonly onRun?: (run: AgentRun, server: ModelServer) => void;
}

export interface GuardedRun {
  readonly site: Site;
  readonly server: ModelServer;
  readonly events: readonly AgentEvent[];
  readonly refusal: AgentHooksRefused | undefined;
  /** Throws when the run was refused. */
  readonly result: RunResult;
  readonly receipts: readonly StampedReceipt[];
  /** Everything the model was told, by anyone. */
  told(): string;
}

let runs = 0;

export async function runGuarded(spec: GuardedCase): Promise<GuardedRun> {
  const { column, prompt = "Please go on." } = spec;
  const { provider } = column;
  const site = spec.site ?? makeSite();
  const token = scriptToken(`case-${process.pid}-${runs++}`);
  await spec.prepare?.(site);
  const start = provider === "claude" ? startAnthropicServer : startOpenaiServer;
  const server = await start({ scripts: { [token]: spec.script(site) } });
  onTestFinished(() => server.close());
  const events: AgentEvent[] = [];
  const seen: { result?: RunResult; refusal?: AgentHooksRefused } = {};
  try {
    const hooks = await compileAgentHooks(spec.declaration(site), {
      provider,
      cwd: site.project,
      path: spec.path?.(site) ?? TOOL_PATH,
      binary: spec.binary?.(site) ?? resolveNativeBinary(provider),
      prove: "off",
      ...spec.compile,
    });
    await spec.betweenCompileAndSpawn?.(site, hooks);
    const run = await spawnAgent({
      hooks,
      prompt: `${prompt} ${token}`,
      cwd: site.project,
      model: column.model,
      baseEnv: { ...baseEnv(site, provider, server.url, spec.apiKey), ...spec.baseEnv?.(site) },
      ...defaultOptions(provider, server.url),
      ...spec.options?.(site),
    });
    onTestFinished(async () => void (await run.stop()));
    spec.onRun?.(run, server);
    for await (const event of run) events.push(event);
    seen.result = await run.result;
  } catch (error) {
    if (!(error instanceof AgentHooksRefused)) throw error;
    seen.refusal = error;
  }
  const { result, refusal } = seen;
  return {
    site,
    server,
    events,
    refusal,
    get result() {
      if (result === undefined) throw new Error(`the run was refused: ${refusal?.message}`);
      return result;
    },
    get receipts() {
      return readReceipts(site);
    },
    told: () => [...server.userTexts(), ...server.toolResults().values()].join("\n"),
  };
}

/** The same run without any hook that the provider fires: shows that the side effect would have happened. */
export function runUnguarded(spec: Omit<GuardedCase, "declaration">): Promise<GuardedRun> {
  return runGuarded({ ...spec, declaration: () => NO_GUARD });
}

export { NO_GUARD };

export function baseEnv(
  site: Site,
  provider: Provider,
  url: string,
  key = DUMMY_KEY,
): Record<string, string> {
  const own = { PATH: TOOL_PATH, HOME: site.home, TMPDIR: site.tmp };
  return provider === "claude"
    ? { ...own, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }
    : { ...own, OPENAI_API_KEY: key };
}

function defaultOptions(provider: Provider, url: string): Partial<SpawnOptions> {
  if (provider === "claude") return { allowedTools: ["Bash", "Write", "Edit", "Agent"] };
  // The sandbox is off but where it is the subject: not every CI host lets codex build one.
  return { sandbox: "danger-full-access", providerConfig: codexProviderConfig(url) };
}

export function codexProviderConfig(url: string): JsonObject {
  const loopback = {
    name: "loopback",
    base_url: `${url}/v1`,
    wire_api: "responses",
    env_key: "OPENAI_API_KEY",
    request_max_retries: 0,
    stream_max_retries: 0,
  };
  return { model_provider: "loopback", model_providers: { loopback } };
}

export function readReceipts(site: Site): StampedReceipt[] {
  const folder = join(site.state, "receipts");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as StampedReceipt);
}

/** Run directories that are still there. */
export function leftRunDirectories(site: Site): string[] {
  const folder = join(site.state, "run");
  return existsSync(folder) ? readdirSync(folder) : [];
}

export const shell = (command: string, id?: string): ToolUse => ({
  kind: "shell",
  command,
  ...(id === undefined ? {} : { id }),
});

/** Leaves a file in the project. */
export const touch = (site: Site, name: string, id?: string): ToolUse =>
  shell(`touch '${site.at(name)}'`, id);

export const write = (site: Site, name: string): ToolUse => ({
  kind: "write",
  path: site.at(name),
  content: "written\n",
});

export interface ProcessView {
  readonly pid: number;
  readonly cmdline: string;
  readonly environ: string;
}

/** Every process whose environment holds `needle`, this one apart. Linux only: elsewhere empty. */
export function processesWith(needle: string): ProcessView[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc").flatMap((name): ProcessView[] => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const environ = readFileSync(`/proc/${pid}/environ`, "utf8");
      if (!environ.includes(needle)) return [];
      return [{ pid, environ, cmdline: readFileSync(`/proc/${pid}/cmdline`, "utf8") }];
    } catch {
      return []; // ended meanwhile, or another user's
    }
  });
}
