// Turns a declared argv into what will run: an absolute real program, absolute script paths, and the identity of each file.

import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, resolve } from "node:path";
import type { Issue } from "../errors.ts";
import { identifyFile } from "../trust/identity.ts";
import type { FileIdentity } from "./plan.ts";

export interface ResolvedCommand {
  readonly argv: readonly string[];
  /** The program's path as found, before links were resolved: becomes the process's argv[0], so that a virtualenv still works. */
  readonly argv0: string;
  readonly files: readonly FileIdentity[];
  /** The path of each file as it was named, absolute, links not resolved. */
  readonly named: readonly string[];
}

const INTERPRETERS = /^(?:node|bun|deno|tsx|python[\d.]*|pypy[\d.]*|ruby|perl|php|sh|bash|dash|zsh|ksh)$/;
export function isInterpreter(name: string): boolean {
  return INTERPRETERS.test(name);
}

/** Options after which an interpreter takes its program from the command line, not from a file. */
const INLINE_PROGRAM = /^(?:-[ceEmp]|--eval|--print|-[a-z]*c|run|eval|test)$/;

/** Directories of a PATH that can be trusted to mean the same everywhere: absolute ones. */
export function absolutePath(path: string): string {
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .join(delimiter);
}

/** Folders of a PATH outside all of `places`: an agent that may write a folder could put another `node` there. */
export function pathOutside(path: string, places: readonly string[]): string {
  const isInside = (folder: string) =>
    places.some((place) => folder === place || folder.startsWith(`${place}/`));
  return path
    .split(delimiter)
    .filter((folder) => !isInside(resolve(folder)))
    .join(delimiter);
}

async function isRegularFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** Absolute path of a program, by PATH or against `root` when it holds a slash; undefined when there is none. */
export async function findProgram(
  name: string,
  { root, path }: { root: string; path: string },
): Promise<string | undefined> {
  const candidates = name.includes("/")
    ? [resolve(root, name)]
    : path.split(delimiter).map((folder) => join(folder, name));
  for (const candidate of candidates) if (await isRegularFile(candidate)) return candidate;
  return undefined;
}

/**
 * Resolves one declared command. Issues: `command_not_found` when the program, or the script an interpreter is to run, is missing
 * or not executable.
 */
export async function resolveCommand(
  command: readonly string[],
  at: string,
  { root, path }: { root: string; path: string },
): Promise<ResolvedCommand | Issue> {
  const missing = (message: string, hint: string): Issue => ({
    code: "command_not_found",
    path: `${at}.command`,
    message,
    hint,
  });
  const [name = "", ...words] = command;
  const argv0 = await findProgram(name, { root, path });
  if (argv0 === undefined) {
    const where = name.includes("/") ? resolve(root, name) : `PATH (${path})`;
    return missing(
      `${JSON.stringify(name)} was not found: ${where}`,
      "relative paths are resolved against the project root",
    );
  }
  const program = await realpath(argv0);
  const canExecute = await access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!canExecute)
    return missing(`${program} is not executable`, `chmod +x ${program}, or name its interpreter first`);

  const scriptIndex = isInterpreter(basename(argv0)) ? findScriptIndex(words) : -1;
  const argv = [program];
  const files = [await identifyFile(program)];
  const named = [argv0];
  for (const [index, word] of words.entries()) {
    const absolute = resolve(root, word);
    const isFile = !word.startsWith("-") && (await isRegularFile(absolute));
    if (index === scriptIndex && !isFile)
      return missing(`the script ${JSON.stringify(word)} was not found: ${absolute}`, "");
    if (isFile) {
      files.push(await identifyFile(absolute));
      named.push(absolute);
    }
    // A bare word that happens to name a file stays as written unless it is the script: `tool test` must not become `tool /p/test`.
    argv.push(isFile && (index === scriptIndex || /[/.]/.test(word)) ? absolute : word);
  }
  return { argv, argv0, files, named };
}

function findScriptIndex(words: readonly string[]): number {
  for (const [index, word] of words.entries()) {
    if (INLINE_PROGRAM.test(word)) return -1;
    // Options of interpreters that take a value in the next word are few and named; anything else with a dash stands alone.
    if (
      !word.startsWith("-") &&
      !/^(?:-r|--require|--import|--loader|-W|-X|-I)$/.test(words[index - 1] ?? "")
    )
      return index;
  }
  return -1;
}
