// Denies that protected files are changed, or touched at all: by edit tools, by patches, and by shell commands as far as their words say it.
// A gate, not a sandbox: what a program that it starts writes to is not seen (docs/HOOKS.md).

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import fastGlob from "fast-glob";
import type { FunctionEntry } from "../declaration/types.ts";
import type { JsonObject } from "../json.ts";
import { deny } from "../profile/answer.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { checkOptions, checkStrings, optionError } from "./options.ts";
import { compileGlobs, type ProtectedGlobs } from "./protected-globs.ts";
import { readCall, stringsIn } from "./read-call.ts";
import type { ShellCommand } from "./shell/command.ts";
import { GLOB, isOpen, OPEN, showField } from "./shell/fields.ts";
import { readShell } from "./shell/read-shell.ts";
import { type Touched, touchedBy } from "./shell/writing-words.ts";

export interface ProtectPathsOptions {
  /** `write`: nothing changes them; `all`: nothing reads them either. @default "write" */
  readonly mode?: "write" | "all";
}

const NAME = "protectPaths";
/** Files that an unquoted `*` is read as, at most. */
const EXPANDED_MAX = 1_000;

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
  if (kind === "edit" && paths.length === 0) return `${tool} edits and names no path that can be read`;
  if (mode === "all" || kind === "edit" || kind === "shell") {
    for (const path of paths) {
      const glob = globs.find(path, { cwd });
      if (glob !== undefined) return describe(path, glob);
    }
  }
  if (kind === "shell" || command !== undefined) return judgeCommand(command, input, globs, { cwd, mode });
  return kind === "mcp" || kind === "other" ? judgeInput(tool, input, globs, { cwd, mode }) : undefined;
}

const WRITES =
  /write|edit|create|delete|remove|move|rename|copy|update|patch|save|upload|append|replace|put/i;
const PATH_KEY =
  /(?:path|paths|file|files|filename|uri|source|destination|target|from|to|dir|directory|folder)(?:\[\d+\])*$/i;

/** Tools that no profile knows: fields that are named like paths, of tools that are named like writers. */
function judgeInput(
  tool: string,
  input: JsonObject,
  globs: ProtectedGlobs,
  { cwd, mode }: { cwd: string; mode: string },
): string | undefined {
  if (mode === "write" && !WRITES.test(tool)) return undefined;
  for (const { at, text } of stringsIn(input, "tool_input")) {
    if (!PATH_KEY.test(at) || text.length > 4_096 || text.includes("\n")) continue;
    const glob = globs.find(text.replace(/^file:\/\//, ""), {
      cwd,
      isWhole: /delete|remove|move|rename/i.test(tool),
    });
    if (glob !== undefined) return describe(text, glob);
  }
  return undefined;
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
    for (const { field, isWhole, ifFolder } of touched) {
      for (const directory of command.directories) {
        if (field.replaceAll(OPEN, "") === "") continue;
        if (ifFolder !== undefined && !isFolder(resolve(directory, ifFolder))) continue;
        // `$DIR/.env`: what the run knows stands for a folder, so that the name still counts.
        for (const path of expandGlob(field.replaceAll(OPEN, "…"), isOpen(directory) ? cwd : directory)) {
          const glob = globs.find(path, { cwd, base: isOpen(directory) ? cwd : directory, isWhole });
          if (glob !== undefined) return describe(showField(field), glob);
        }
      }
    }
  }
  return undefined;
}

/** Every word but those that are only printed; values of options too. */
function allWords({ name, args, redirections }: ShellCommand) {
  const words = name === "echo" || name === "printf" ? [] : args;
  const values = words.flatMap((word) =>
    /^-{1,2}[\w-]+=/.test(word) ? [word.slice(word.indexOf("=") + 1)] : [word.replace(/^@/, "")],
  );
  return [
    ...values,
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
    field,
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
    // What stands before, between and behind the marks is itself; `escapePath` takes no empty text.
    const pattern = field
      .split(GLOB)
      .map((part) => (part === "" ? "" : fastGlob.escapePath(part)))
      .join("*")
      .replaceAll(/\*{2,}/g, "*");
    const found = fastGlob.sync(pattern, {
      cwd,
      dot: false,
      onlyFiles: false,
      followSymbolicLinks: false,
      suppressErrors: true,
      deep: 8,
    });
    return found.slice(0, EXPANDED_MAX);
  } catch {
    return [showField(field)]; // no pattern that can be listed: it is judged as it stands
  }
}

function describe(path: string, glob: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return `${JSON.stringify(shown)} is protected by ${JSON.stringify(glob)}`;
}
