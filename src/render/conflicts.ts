// Tells whether a caller's extra argument or variable would undo the isolation. One matcher for both providers; the lists are theirs.

import type { Issue } from "../errors.ts";
import type { RunOptions } from "./provider.ts";

/** Longest single argument the kernel takes is 128 KiB; a caller's must stay well below. */
export const ARGUMENT_MAX_BYTES = 100 * 1024;

export interface ForbiddenFlag {
  /** Every spelling, long and short: `--profile`, `-p`. */
  readonly flags: readonly string[];
  readonly why: string;
}

/** Finds the forbidden flag an argument spells: `--flag`, `--flag=value`, `-fvalue`, or an unambiguous beginning of a long one. */
export function findForbiddenFlag(
  arg: string,
  forbidden: readonly ForbiddenFlag[],
): ForbiddenFlag | undefined {
  if (!arg.startsWith("-") || arg === "-" || arg === "--") return undefined;
  const isLong = arg.startsWith("--");
  const name = isLong ? (arg.split("=", 1)[0] ?? arg) : arg.slice(0, 2);
  return forbidden.find(({ flags }) =>
    flags.some((flag) => {
      if (!isLong) return flag === name;
      return flag === name || (name.length > 4 && flag.startsWith(name));
    }),
  );
}

export function checkExtraArgs({ extraArgs = [] }: RunOptions, forbidden: readonly ForbiddenFlag[]): Issue[] {
  const issues: Issue[] = [];
  for (const [index, arg] of extraArgs.entries()) {
    const path = `extraArgs[${index}]`;
    const found = findForbiddenFlag(arg, forbidden);
    if (found !== undefined)
      issues.push({
        code: "argument_conflict",
        path,
        message: `${JSON.stringify(arg.split("=", 1)[0])} ${found.why}`,
        hint: "use the option of spawnAgent, if there is one",
      });
    else if (arg === "--" || arg === "-" || !(arg.startsWith("-") || takesNextWord(extraArgs[index - 1]))) {
      issues.push({
        code: "argument_conflict",
        path,
        message: `${JSON.stringify(arg.slice(0, 60))} would be read as a prompt or end the options`,
        hint: "the prompt goes over stdin",
      });
    }
    if (Buffer.byteLength(arg) > ARGUMENT_MAX_BYTES || arg.includes("\0")) {
      issues.push({
        code: "option_invalid",
        path,
        message: `the argument has ${Buffer.byteLength(arg)} bytes or holds a NUL`,
        hint: `at most ${ARGUMENT_MAX_BYTES} bytes`,
      });
    }
  }
  return issues;
}

/** A flag written with `=` has its value; the word behind it would be a prompt. */
function takesNextWord(arg = ""): boolean {
  return arg.startsWith("-") && !arg.includes("=");
}

/** Options that become argv words: too long or with a NUL they would fail inside exec. */
export function checkWords(options: RunOptions): Issue[] {
  const {
    model,
    permissionMode,
    resume,
    tools = [],
    allowedTools = [],
    disallowedTools = [],
    addDirs = [],
  } = options;
  const words: [string, string | undefined][] = [
    ["model", model],
    ["permissionMode", permissionMode],
    ["resume", resume],
    ...[...Object.entries({ tools, allowedTools, disallowedTools, addDirs })].flatMap(([name, list]) =>
      list.map((word, index): [string, string] => [`${name}[${index}]`, word]),
    ),
  ];
  return words.flatMap(([path, word]): Issue[] => {
    if (word === undefined) return [];
    if (
      typeof word !== "string" ||
      word.trim() === "" ||
      word.includes("\0") ||
      Buffer.byteLength(word) > ARGUMENT_MAX_BYTES
    ) {
      return [
        {
          code: "option_invalid",
          path,
          message: `${JSON.stringify(word).slice(0, 80)} cannot be an argument`,
          hint: `a string that is not blank, without NUL, at most ${ARGUMENT_MAX_BYTES} bytes`,
        },
      ];
    }
    return [];
  });
}

export function checkEnvNames(
  names: readonly string[],
  forbidden: RegExp,
  allowed: readonly string[],
): Issue[] {
  return names
    .filter((name) => forbidden.test(name) && !allowed.includes(name))
    .map((name) => ({
      code: "argument_conflict",
      path: `env.${name}`,
      message: `${name} can switch hooks off or run code beside them`,
      hint: "leave it out",
    }));
}

/** Variables that run code in, or before, every shell and runtime, whatever the provider. */
export const CODE_BEFORE_HOOKS =
  /^(?:BASH_ENV|ENV|SHELL|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|PS4|PROMPT_COMMAND|IFS|CDPATH|ZDOTDIR|LD_.*|DYLD_.*|GCONV_PATH|NODE_OPTIONS|BUN_.*|PYTHONSTARTUP|BRIDLE_.*)$/;
