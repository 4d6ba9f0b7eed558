// What isolation takes away is said, and what only narrows is kept: finds ambient hooks, rules and instructions, copies deny and
// ask rules, reads the project's instruction file. Reads only; never runs anything it finds.

import { constants, realpathSync } from "node:fs";
import { open } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import { isJsonObject, type JsonObject } from "../json.ts";
import { isNamed, isThere } from "../look.ts";
import type { Provider } from "../profile/events.ts";
import { onlyNarrows, readRuleFiles } from "./codex-rules.ts";
import { userCodexHome } from "./home.ts";

export interface AmbientFinding {
  readonly code: "ambient_dropped" | "ambient_unreadable";
  readonly message: string;
}

export interface Ambient {
  /** The git root above the working directory, else the working directory. */
  readonly projectRoot: string;
  readonly findings: readonly AmbientFinding[];
  readonly denyRules: { readonly deny: readonly string[]; readonly ask: readonly string[] };
  readonly instructions: string | undefined;
  /** codex execpolicy files to keep, by file name. */
  readonly narrowingRules: Readonly<Record<string, string>>;
}

/** Longest instruction file passed on, in bytes: codex's own default limit for project documents. */
const INSTRUCTIONS_MAX_BYTES = 32 * 1024;

/** Most that is read of one ambient file, in bytes. */
const AMBIENT_MAX_BYTES = 1024 * 1024;

export interface AmbientSources {
  readonly provider: Provider;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly wantsRules: boolean;
  readonly wantsInstructions: boolean;
}

export async function scanAmbient({
  provider,
  cwd,
  env,
  wantsRules,
  wantsInstructions,
}: AmbientSources): Promise<Ambient> {
  const root = findProjectRoot(cwd);
  const folders = [...new Set([root, cwd])];
  const findings: AmbientFinding[] = [];
  const rules = { deny: [] as string[], ask: [] as string[] };
  const narrowingRules: Record<string, string> = {};
  const scan =
    provider === "claude"
      ? scanClaude({ folders, env, wantsRules }, findings, rules)
      : scanCodex({ folders, env, wantsRules }, findings, narrowingRules);
  const aboutInstructions: AmbientFinding[] = [];
  const [instructions] = await Promise.all([
    readInstructions(provider, { root, folders }, wantsInstructions, aboutInstructions),
    scan,
  ]);
  findings.push(...aboutInstructions);
  return { projectRoot: root, findings, denyRules: rules, instructions, narrowingRules };
}

/** The git root above `cwd`, else `cwd`. */
function findProjectRoot(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (isThere(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return cwd;
  }
}

async function scanClaude(
  { folders, env, wantsRules }: { folders: readonly string[]; env: NodeJS.ProcessEnv; wantsRules: boolean },
  findings: AmbientFinding[],
  rules: { deny: string[]; ask: string[] },
): Promise<void> {
  const home = env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), ".claude");
  const files = [
    join(home, "settings.json"),
    ...folders.flatMap((folder) =>
      ["settings.json", "settings.local.json"].map((name) => join(folder, ".claude", name)),
    ),
  ];
  for (const { path: file, read: settings, said } of await readAll(files, readSettings)) {
    findings.push(...said);
    if (settings === undefined) continue;
    const hooks = isJsonObject(settings.hooks) ? Object.keys(settings.hooks) : [];
    if (hooks.length > 0) findings.push(dropped(`${file}: hooks for ${hooks.join(", ")} will not run`));
    const permissions = isJsonObject(settings.permissions) ? settings.permissions : {};
    for (const list of ["deny", "ask"] as const) {
      const found = Array.isArray(permissions[list])
        ? permissions[list].filter((rule) => typeof rule === "string")
        : [];
      if (found.length === 0) continue;
      if (wantsRules) rules[list].push(...found.filter((rule) => !rules[list].includes(rule)));
      else findings.push(dropped(`${file}: ${found.length} ${list} rule(s) do not apply`));
    }
    if (Array.isArray(permissions.allow) && permissions.allow.length > 0)
      findings.push(dropped(`${file}: ${permissions.allow.length} allow rule(s) do not apply`));
  }
  for (const folder of folders)
    if (isThere(join(folder, ".mcp.json")))
      findings.push(dropped(`${join(folder, ".mcp.json")}: its MCP servers will not start`));
}

async function scanCodex(
  { folders, env, wantsRules }: { folders: readonly string[]; env: NodeJS.ProcessEnv; wantsRules: boolean },
  findings: AmbientFinding[],
  narrowingRules: Record<string, string>,
): Promise<void> {
  const homes = [...new Set([userCodexHome(env), ...folders.map((folder) => join(folder, ".codex"))])];
  const read = homes.map((home) =>
    Promise.all([
      readAll(
        ["hooks.json", "config.toml"].map((name) => join(home, name)),
        readText,
      ),
      readRuleFiles(home),
    ]),
  );
  for (const [index, [texts, ruleFiles]] of (await Promise.all(read)).entries()) {
    for (const { path, read: text, said } of texts) {
      findings.push(...said);
      if (text === undefined) continue;
      const hasHooks =
        basename(path) === "hooks.json" || /^\s*\[{1,2}\s*hooks\b|^\s*hooks\s*[.=]/m.test(text);
      findings.push(dropped(`${path}: ${hasHooks ? "its hooks will not run" : "its settings do not apply"}`));
    }
    for (const { path, text } of ruleFiles) {
      if (wantsRules && onlyNarrows(text))
        narrowingRules[`${Object.keys(narrowingRules).length}-${basename(path)}`] = text;
      else findings.push(dropped(`${path}: its rules do not apply`));
    }
    const skills = join(homes[index] ?? "", "skills");
    if (isThere(skills)) findings.push(dropped(`${skills}: does not apply`));
  }
}

async function readInstructions(
  provider: Provider,
  { root, folders }: { root: string; folders: readonly string[] },
  isWanted: boolean,
  findings: AmbientFinding[],
): Promise<string | undefined> {
  const name = provider === "claude" ? "CLAUDE.md" : "AGENTS.md";
  const texts: string[] = [];
  for (const folder of folders) {
    const file = join(folder, name);
    if (!isWanted) {
      if (isThere(file)) findings.push(dropped(`${file}: instructions are not passed on`));
      continue;
    }
    if (leadsOutside(file, root)) {
      findings.push(dropped(`${file}: is a link that leaves the project; it is not passed on`));
      continue;
    }
    const text = await readText(file, findings);
    if (text === undefined || text.trim() === "") continue;
    if (Buffer.byteLength(text) > INSTRUCTIONS_MAX_BYTES) {
      findings.push(dropped(`${file}: only its first ${INSTRUCTIONS_MAX_BYTES} bytes are passed on`));
      texts.push(Buffer.from(text).subarray(0, INSTRUCTIONS_MAX_BYTES).toString("utf8"));
    } else texts.push(text);
  }
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

/** Reads all at the same time; what there is to say about each stands beside it, so that it is told in the order of the list. */
function readAll<Content>(
  paths: readonly string[],
  read: (path: string, said: AmbientFinding[]) => Promise<Content>,
): Promise<{ path: string; read: Content; said: AmbientFinding[] }[]> {
  return Promise.all(
    paths.map(async (path) => {
      const said: AmbientFinding[] = [];
      return { path, read: await read(path, said), said };
    }),
  );
}

async function readSettings(file: string, findings: AmbientFinding[]): Promise<JsonObject | undefined> {
  const text = await readText(file, findings);
  if (text === undefined) return undefined;
  try {
    const settings: unknown = JSON.parse(text);
    if (isJsonObject(settings)) return settings;
    findings.push({
      code: "ambient_unreadable",
      message: `${file}: is not a JSON object; its deny rules, if any, do not apply`,
    });
  } catch (error) {
    findings.push({
      code: "ambient_unreadable",
      message: `${file}: ${(error as Error).message}; its deny rules, if any, do not apply`,
    });
  }
  return undefined;
}

/** Reads at most `AMBIENT_MAX_BYTES` of a regular file; a FIFO or device in its place must not hold the run. */
async function readText(file: string, findings: AmbientFinding[]): Promise<string | undefined> {
  if (!isNamed(file)) return undefined; // nearly always: few folders have any of these
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) {
        findings.push({ code: "ambient_unreadable", message: `${file}: is not a regular file` });
        return undefined;
      }
      const length = Math.min(stats.size, AMBIENT_MAX_BYTES);
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR")
      findings.push({ code: "ambient_unreadable", message: `${file}: ${code}` });
    return undefined;
  }
}

function dropped(message: string): AmbientFinding {
  return { code: "ambient_dropped", message };
}

/** What the agent may read is one thing; what Bridle itself hands to a model must not be chosen by a link. */
function leadsOutside(file: string, root: string): boolean {
  if (!isThere(file)) return false; // there is nothing to pass on
  return !realpathSync.native(file).startsWith(`${realpathSync.native(root)}${sep}`);
}
