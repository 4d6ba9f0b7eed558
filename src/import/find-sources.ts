// Which files an import reads, and their text. A project's files go into the project's settings, the user's into the user's: hooks are
// not carried from one to the other.

import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import type { Provider } from "../profile/events.ts";
import type { FileKind, HookSource } from "./report-types.ts";

/** Longest file that is read, in bytes. */
export const SOURCE_MAX_BYTES = 4 * 1024 * 1024;

export interface Places {
  readonly provider: Provider;
  /** Named on the command line; none: the usual places. */
  readonly paths: readonly string[];
  readonly cwd: string;
  /** The project: where the folder `.git` is, or `cwd`. */
  readonly root: string;
  readonly home: string;
  readonly isUser: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export interface FoundSource {
  readonly path: string;
  readonly kind: FileKind;
  /** Named by the caller, so that it must be there and be readable. */
  readonly isNamed: boolean;
}

const IN_PROJECT: Readonly<Record<Provider, readonly string[]>> = {
  claude: [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents/**/*.md",
    ".claude/skills/**/SKILL.md",
  ],
  codex: [".codex/hooks.json", ".codex/config.toml"],
};

/** In the folder that holds the user's own configuration, and in a folder that was named: a bundle or a project. */
const IN_FOLDER: Readonly<Record<Provider, readonly string[]>> = {
  claude: ["settings.json", "settings.local.json", "agents/**/*.md", "skills/**/SKILL.md"],
  codex: ["hooks.json", "config.toml"],
};

/** The folder with `.git` at or above a folder, or the folder itself. */
export function findProjectRoot(cwd: string): string {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (dirname(folder) === folder) return resolve(cwd);
  }
}

export async function findSources(places: Places): Promise<FoundSource[]> {
  const { provider, paths, cwd, root, isUser } = places;
  if (paths.length === 0) {
    if (isUser) return findIn(userFolder(places), IN_FOLDER[provider], provider);
    return findIn(root, IN_PROJECT[provider], provider);
  }
  const found: FoundSource[] = [];
  for (const path of paths.map((one) => resolve(cwd, one))) {
    const isFolder = await stat(path).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (!isFolder) found.push({ path, kind: kindOf(path), isNamed: true });
    else {
      const patterns = ["hooks/hooks.json", "SKILL.md", ...IN_FOLDER[provider], ...IN_PROJECT[provider]];
      found.push(...(await findIn(path, patterns, provider)));
    }
  }
  return found.filter(({ path }, index) => found.findIndex((other) => other.path === path) === index);
}

function userFolder({ provider, home, env }: Places): string {
  const named = provider === "claude" ? env.CLAUDE_CONFIG_DIR : env.CODEX_HOME;
  return named === undefined || named === "" ? join(home, `.${provider}`) : resolve(named);
}

async function findIn(
  folder: string,
  patterns: readonly string[],
  provider: Provider,
): Promise<FoundSource[]> {
  const usable = provider === "claude" ? patterns : patterns.filter((pattern) => !pattern.endsWith(".md"));
  const found: FoundSource[] = [];
  for (const pattern of usable) {
    for (const name of pattern.includes("*") ? await findNames(folder, pattern) : [pattern]) {
      const path = join(folder, name);
      // A link to a file counts; what is there and is no file is told when it is read.
      const isThere = await stat(path).then(
        () => true,
        () => false,
      );
      if (isThere) found.push({ path, kind: kindOf(path), isNamed: false });
    }
  }
  return found;
}

// Names below a folder: patterns end in one name or in one extension, at any depth, and there are no others above.
async function findNames(folder: string, pattern: string): Promise<string[]> {
  const [base = "", name = ""] = pattern.split("/**/");
  const isMeant = (path: string) =>
    name.startsWith("*") ? path.endsWith(name.slice(1)) : basename(path) === name;
  return (await listBelow(folder, base)).filter(isMeant).sort();
}

/**
 * Everything below `at`, relative to `folder`. Links to folders are not followed, so that a loop has an end; a folder that cannot be read
 * holds nothing.
 */
async function listBelow(folder: string, at: string): Promise<string[]> {
  const entries = await readdir(join(folder, at), { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries) {
    const path = `${at}/${entry.name}`;
    found.push(path);
    if (entry.isDirectory()) found.push(...(await listBelow(folder, path)));
  }
  return found;
}

function kindOf(path: string): FileKind {
  const extension = extname(path).toLowerCase();
  if (extension === ".toml") return "toml";
  return extension === ".md" || extension === ".markdown" ? "frontmatter" : "json";
}

/** The root of the bundle that a plugin's `hooks/hooks.json` belongs to. */
export function pluginRootOf(path: string): string | undefined {
  const folder = dirname(path);
  const isBundle = basename(path) === "hooks.json" && basename(folder) === "hooks";
  return isBundle && basename(dirname(folder)) !== ".claude" ? dirname(folder) : undefined;
}

/** Text or a reason. Undefined: a file found by chance that says nothing of hooks. */
export async function readSource(
  { path, kind, isNamed }: FoundSource,
  provider: Provider,
): Promise<HookSource | { readonly problem: string } | undefined> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return { problem: "is no regular file" };
    if (stats.size > SOURCE_MAX_BYTES)
      return { problem: `has ${stats.size} bytes; at most ${SOURCE_MAX_BYTES} are read` };
    const text = decodeSource(await readFile(path));
    if (text === undefined) return { problem: "is not UTF-8" };
    if (kind === "frontmatter" && !isNamed && !/^[ \t]*["']?hooks["']?[ \t]*:/m.test(text)) return undefined;
    return { provider, path, text, kind };
  } catch (error) {
    return { problem: `cannot be read: ${(error as Error).message}` };
  }
}

/** Undefined when the bytes are no UTF-8: a replaced character would be another command. */
export function decodeSource(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
