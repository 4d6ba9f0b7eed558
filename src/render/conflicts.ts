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

/** A flag known to leave hooks and isolation as they are, and whether it takes a value. `optional`: it may do without. */
export type AllowedFlags = Readonly<Record<string, "none" | "value" | "optional">>;

export interface ArgumentRules {
  readonly allowed: AllowedFlags;
  /** Only for the reason told: what is not allowed refuses, listed here or not. The CLIs have many flags no help text names. */
  readonly forbidden: readonly ForbiddenFlag[];
}

/** Finds the forbidden flag an argument spells: `--flag`, `--flag=value`, `-fvalue`. */
function findForbidden(arg: string, forbidden: readonly ForbiddenFlag[]): ForbiddenFlag | undefined {
  const name = arg.startsWith("--") ? nameOf(arg) : arg.slice(0, 2);
  return forbidden.find(({ flags }) => flags.includes(name));
}

function nameOf(arg: string): string {
  return arg.split("=", 1)[0] ?? arg;
}

export function checkExtraArgs(
  { extraArgs = [] }: RunOptions,
  { allowed, forbidden }: ArgumentRules,
): Issue[] {
  const issues: Issue[] = [];
  /** The flag before, when it still waits for a value. */
  let waiting: "no" | "may" | "must" = "no";
  for (const [index, arg] of extraArgs.entries()) {
    const conflict = (message: string, hint: string) =>
      issues.push({ code: "argument_conflict", path: `extraArgs[${index}]`, message, hint });
    if (typeof arg !== "string" || Buffer.byteLength(arg) > ARGUMENT_MAX_BYTES || arg.includes("\0")) {
      issues.push({
        code: "option_invalid",
        path: `extraArgs[${index}]`,
        message: "is no string, is too long or holds a NUL",
        hint: `at most ${ARGUMENT_MAX_BYTES} bytes`,
      });
      waiting = "no";
      continue;
    }
    if (!arg.startsWith("-") || arg === "-" || arg === "--") {
      if (waiting === "no" || arg.startsWith("-"))
        conflict(
          `${JSON.stringify(arg.slice(0, 60))} would be read as a prompt or a command, or end the options`,
          "the prompt goes over stdin; bind a value with --flag=value",
        );
      waiting = "no";
      continue;
    }
    if (waiting === "must")
      conflict(
        `${JSON.stringify(extraArgs[index - 1])} would take the next flag as its value`,
        "use --flag=value",
      );
    waiting = "no";
    const name = nameOf(arg);
    const takes = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
    if (takes === undefined) {
      const why = findForbidden(arg, forbidden)?.why ?? "is not known to leave hooks and isolation alone";
      conflict(
        `${JSON.stringify(name.slice(0, 60))} ${why}`,
        `use the option of spawnAgent, if there is one; allowed here: ${Object.keys(allowed).join(" ")}`,
      );
      // Its value, if it has one, is no conflict of its own.
      if (name === arg) waiting = "may";
    } else if (name === arg && takes !== "none") waiting = takes === "value" ? "must" : "may";
  }
  if (waiting === "must")
    issues.push({
      code: "argument_conflict",
      path: `extraArgs[${extraArgs.length - 1}]`,
      message: `${JSON.stringify(extraArgs.at(-1))} has no value`,
      hint: "use --flag=value",
    });
  return issues;
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
  const joined = Object.entries({ tools, allowedTools, disallowedTools }).filter(
    ([, list]) => Buffer.byteLength(list.join(",")) > ARGUMENT_MAX_BYTES,
  );
  const tooLong = joined.map(
    ([path]): Issue => ({
      code: "option_invalid",
      path,
      message: "the whole list is too long for one argument",
      hint: `at most ${ARGUMENT_MAX_BYTES} bytes`,
    }),
  );
  return words
    .flatMap(([path, word]): Issue[] => {
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
    })
    .concat(tooLong);
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
  /^(?:BASH_.*|ENV|KSH_ENV|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|IFS|CDPATH|ZDOTDIR|LD_.*|DYLD_.*|GCONV_PATH|NODE_OPTIONS|BUN_.*|PYTHONSTARTUP|BRIDLE_.*)$/;
