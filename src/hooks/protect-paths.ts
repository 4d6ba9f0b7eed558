// Denies that protected files are changed, or touched at all: by edit tools, by patches, and by shell commands as far as their words say it.
// A gate, not a sandbox: what a program that it starts writes to is not seen (docs/HOOKS.md).

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import picomatch from "picomatch";
import type { FunctionEntry } from "../declaration/types.ts";
import type { JsonObject } from "../json.ts";
import { deny } from "../profile/answer.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { expandStars, listBelow } from "./list-names.ts";
import { checkOptions, checkStrings, optionError } from "./options.ts";
import { compileGlobs, type ProtectedGlobs } from "./protected-globs.ts";
import { readCall, shellTextsOf, stringsIn } from "./read-call.ts";
import type { ShellCommand } from "./shell/command.ts";
import { FOREIGN, GLOB, isOpen, OPEN, showField } from "./shell/fields.ts";
import { readShell } from "./shell/read-shell.ts";
import { type Touched, touchedBy } from "./shell/writing-words.ts";

export interface ProtectPathsOptions {
  /** `write`: nothing changes them; `all`: nothing reads them either. @default "write" */
  readonly mode?: "write" | "all";
}

const NAME = "protectPaths";
/** Files that an unquoted `*` is read as, at most. */
const EXPANDED_MAX = 1_000;
/** How deep below a folder names are looked for. */
const LEVELS = 5;

/**
 * A guard for `PreToolUse`. A glob without a slash protects that name at any depth; one with a slash is relative to the agent's directory;
 * one that begins with `/` or `~/` is absolute. Names that begin with a dot match too. Throws `TypeError` for globs and options that cannot
 * be used.
 * @example { PreToolUse: [{ hooks: [protectPaths([".env*", ".git/**", "~/.ssh/**"])] }] }
 */
export function protectPaths(globs: readonly string[], options: ProtectPathsOptions = {}): FunctionEntry {
  const compiled = compileGlobs(
    `${NAME}: globs`,
    checkStrings(`${NAME}: globs`, globs, { isEmptyFine: false }),
  );
  checkOptions(NAME, options, ["mode"]);
  const { mode = "write" } = options;
  if (mode !== "write" && mode !== "all") throw optionError(`${NAME}: mode`, '"write" or "all"', mode);
  return {
    type: "function",
    name: NAME,
    handler: (envelope) => {
      const problem = judge(envelope, compiled, mode);
      return problem === undefined ? undefined : deny(envelope, `${NAME}: ${problem}`);
    },
  };
}

function judge(envelope: Envelope, globs: ProtectedGlobs, mode: "write" | "all"): string | undefined {
  const { cwd } = envelope;
  const { tool, kind, paths, command, input } = readCall(envelope);
  if (kind === "edit" && (paths.length === 0 || paths.some((path) => path.trim() === "")))
    return `${tool} edits and names no path that can be read`;
  if (mode === "all" || kind === "edit" || kind === "shell") {
    for (const path of paths) {
      const glob = globs.find(path, { cwd });
      if (glob !== undefined) return describe(path, glob);
    }
  }
  if (kind === "shell" || command !== undefined) return judgeCommand(command, input, globs, { cwd, mode });
  for (const text of shellTextsOf({ tool, kind, input })) {
    const problem = judgeCommand(text, input, globs, { cwd, mode });
    if (problem !== undefined) return problem;
  }
  if (kind === "read") return mode === "all" ? judgePatterns(tool, input, globs, cwd) : undefined;
  return kind === "mcp" || kind === "other" ? judgeInput(tool, input, globs, { cwd, mode }) : undefined;
}

/** Tools that search take globs: what they may match is judged as it stands. */
function judgePatterns(
  tool: string,
  { glob, pattern }: JsonObject,
  globs: ProtectedGlobs,
  cwd: string,
): string | undefined {
  // What Grep looks for is no path; what Glob looks for is.
  for (const text of [glob, /glob|find|list/i.test(tool) ? pattern : undefined]) {
    if (typeof text !== "string" || text === "") continue;
    const found = globs.find(text.replace(/^(?:\*\*?\/)+/, ""), { cwd });
    if (found !== undefined) return describe(text, found);
  }
  return undefined;
}

const WRITES =
  /write|edit|create|delete|remove|move|rename|copy|update|patch|save|upload|append|replace|unlink|truncate|touch|modify|insert|store|contents|download|make|chmod/i;
/** As whole words of a name alone: `rm`, `set_contents`, `putFile`. */
const WRITES_AS_WORD = /(?:^|_)(?:rm|mv|cp|ln|put|set|del|add|link)(?:_|$)/;
/** Of tools that write: they work on files, so that a call without a path hides one. */
const WORKS_ON_FILES = /file|path|director|folder|(?:^|_)fs(?:_|$)|disk|notebook|text_?editor/i;
const PATH_KEY =
  /(?:path|paths|file|files|file_?name|file_?names|uri|uris|url|source|src|dest|destination|target|output|out|name|from|to|dir|directory|folder|location)(?:\[\d+\])*$/i;

/** Tools that no profile knows: fields that are named like paths, of tools that are named like writers. */
function judgeInput(
  tool: string,
  input: JsonObject,
  globs: ProtectedGlobs,
  { cwd, mode }: { cwd: string; mode: string },
): string | undefined {
  const name = tool.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
  const isWriting = WRITES.test(name) || WRITES_AS_WORD.test(name.replace(/^mcp__.*?__/, ""));
  if (mode === "write" && !isWriting) return undefined;
  let isNamed = false;
  for (const { at, text } of stringsIn(input, "tool_input")) {
    if (!PATH_KEY.test(at) || text === "" || text.length > 4_096 || text.includes("\n")) continue;
    isNamed = true;
    const glob = globs.find(text.replace(/^file:\/\//, ""), {
      cwd,
      isWhole: /delete|remove|move|rename|unlink|(?:^|_)(?:rm|mv)(?:_|$)/.test(name),
    });
    if (glob !== undefined) return describe(text, glob);
  }
  return !isNamed && isWriting && WORKS_ON_FILES.test(name)
    ? `${tool} writes to files and names no path that can be read`
    : undefined;
}

function judgeCommand(
  text: string | undefined,
  { workdir }: JsonObject,
  globs: ProtectedGlobs,
  { cwd, mode }: { cwd: string; mode: "write" | "all" },
): string | undefined {
  if (text === undefined) return "a shell call without tool_command cannot be read";
  const start = typeof workdir === "string" && workdir !== "" ? { start: workdir } : {};
  const { commands, problem } = readShell(text, { cwd, home: homedir(), ...start });
  if (problem !== undefined) return `the command ${problem}`;
  for (const command of commands) {
    const touched: readonly Touched[] =
      mode === "all"
        ? [...touchedBy(command), ...allWords(command)]
        : [...touchedBy(command), ...inlinePaths(command)];
    for (const one of touched) {
      if (one.field.replaceAll(/[\ue000\ue003]/g, "") === "") continue;
      for (const directory of command.directories) {
        const found = judgeTouched(one, globs, { cwd, directory: isOpen(directory) ? cwd : directory });
        if (found !== undefined) return found;
      }
    }
  }
  return undefined;
}

function judgeTouched(
  { field, isWhole, ifFolder, names, sparesGit = false }: Touched,
  globs: ProtectedGlobs,
  { cwd, directory }: { cwd: string; directory: string },
): string | undefined {
  if (ifFolder !== undefined && !isFolder(resolve(directory, ifFolder))) return undefined;
  // `$DIR/.env`: what the run knows stands for a folder, so that the name still counts.
  const bare = field.replaceAll(FOREIGN, "");
  const filled = bare.replaceAll(OPEN, "…");
  // `.e$X`: what is there and begins so is meant, perhaps.
  const last = bare.slice(bare.lastIndexOf("/") + 1);
  const isBegun = isOpen(last) && !last.startsWith(OPEN) && !isOpen(bare.slice(0, -last.length));
  const begun = isBegun ? [bare.replaceAll(OPEN, GLOB)] : [];
  for (const path of [filled, ...begun].flatMap((one) => expandGlob(one, directory))) {
    const below = names === undefined ? [path] : filesNamed(names, resolve(directory, path));
    for (const one of below) {
      const glob = globs.find(one, { cwd, base: directory, isWhole, sparesGit });
      if (glob !== undefined) return describe(names === undefined ? showField(field) : one, glob);
    }
  }
  return undefined;
}

/** Files below a folder whose last part is one of these; the names themselves too, for what is not there yet. */
function filesNamed(names: readonly string[], folder: string): string[] {
  const own = names.map((name) => `${folder}/${showField(name)}`);
  try {
    // Braces and the like are themselves for find.
    const patterns = names.map((name) => `**/${showField(name).replaceAll(/[{}()!+@|$^]/g, "\\$&")}`);
    const isMeant = picomatch(patterns, { dot: true });
    const found = Array.from(listBelow(folder, LEVELS)).filter((path) => isMeant(path));
    return [...own, ...found.map((path) => join(folder, path))];
  } catch {
    return own; // no pattern that can be listed
  }
}

/** What a word may be beside itself: `k=v`, `k=@v`, `-kv`, `rev:v`, `@v`. */
function partsOfWord(word: string): string[] {
  const [, value] = word.split(/=(.*)/s);
  const [, behind] = /^[^/]*?:(.*)$/s.exec(word) ?? [];
  const attached = /^-[A-Za-z](.+)$/s.exec(word)?.[1];
  return [word, value, value?.split(/=(.*)/s)[1], behind?.replace(/^\/\/+/, "/"), attached]
    .filter((part) => part !== undefined)
    .map((part) => part.replace(/^[@<]/, ""));
}

/** Every word but those that are only printed; values of options too. */
function allWords({ name, args, redirections }: ShellCommand) {
  const words = name === "echo" || name === "printf" ? [] : args;
  return [
    ...words.flatMap(partsOfWord),
    ...redirections.flatMap(({ targets }) => targets),
    ...inlinePaths({ name, args }).map(({ field }) => field),
  ].map((field) => ({ field, isWhole: false }));
}

/** Texts inside a program on the command line: what it does with a path cannot be told. */
function inlinePaths({ name, args }: Pick<ShellCommand, "name" | "args">) {
  if (!/^(?:python[\d.]*|node|ruby|perl|php|bun|deno)$/.test(name)) return [];
  const at = args.findIndex((arg) => /^-[A-Za-z]*[cepr]$|^--eval$|^eval$/.test(arg));
  const code = at === -1 ? "" : (args[at + 1] ?? "");
  return [...code.matchAll(/(["'`])([^"'`\n]{1,1000})\1/g)].map(([, , field = ""]) => ({
    field: field.replace(/^[+<>|\s]+/, ""), // perl's modes of opening
    isWhole: false,
  }));
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // nothing is there, so nothing is put below it
  }
}

/** What an unquoted `*` stands for, and the text itself. */
function expandGlob(field: string, cwd: string): string[] {
  if (!field.includes(GLOB)) return [field];
  try {
    const found: string[] = [];
    for (const path of expandStars(field, { folder: cwd, star: GLOB })) {
      found.push(path);
      if (found.length === EXPANDED_MAX) break;
    }
    return found;
  } catch {
    return [showField(field)]; // no pattern that can be listed: it is judged as it stands
  }
}

function describe(path: string, glob: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return `${JSON.stringify(shown)} is protected by ${JSON.stringify(glob)}`;
}
