// What a git command changes in the work tree, and files that it writes. Its own folder is not looked at. Pure.

import type { ShellCommand } from "./command.ts";
import { patchedBy } from "./patch-paths.ts";
import { type OptionTable, readOptions, valuesOf } from "./read-options.ts";
import type { Touched } from "./writing-words.ts";

/** Options before the verb. */
export const GIT_OPTIONS: OptionTable = {
  flags: "pPvh",
  values: "Cc",
  longFlags:
    "paginate no-pager bare no-replace-objects literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks no-advice exec-path html-path version help no-lazy-fetch",
  longValues: "git-dir work-tree namespace config-env super-prefix attr-source list-cmds",
};

const VERB_OPTIONS: OptionTable = {
  flags: "abdDefFilnpqrRStTuvwWxXyz0123",
  values: "osmfC",
  longFlags:
    "staged worktree cached force quiet hard soft mixed merge keep dry-run check stat numstat summary all patch ours theirs detach",
  longValues: "output source file message pathspec-from-file output-directory",
};

export function gitWrites(command: ShellCommand): Touched[] {
  const { options, operands } = readOptions(command.args, GIT_OPTIONS);
  const [verb = "", ...args] = operands;
  const base = valuesOf(options, "C", "work-tree");
  return verbWrites(verb, args, command).map((one) => ({
    ...one,
    field: [...base, one.field].reduce((before, next) => (next.startsWith("/") ? next : `${before}/${next}`)),
    sparesGit: !/^(?:\.\/)?\.git(?:\/|$)/.test(one.field),
  }));
}

function verbWrites(verb: string, args: readonly string[], command: ShellCommand): Touched[] {
  const { options, operands } = readOptions(
    args,
    verb === "clean"
      ? { flags: "dfiqnxX", values: "e" }
      : verb === "config"
        ? { values: "f", longValues: "file" }
        : VERB_OPTIONS,
    { isPermuted: true },
  );
  const given = new Set(options.map(({ name }) => name));
  const has = (...names: string[]) => names.some((name) => given.has(name));
  const whole = (fields: readonly string[]): Touched[] =>
    fields.map((field) => ({ field: unmagic(field), isWhole: true }));
  const plain = (fields: readonly string[]): Touched[] => fields.map((field) => ({ field, isWhole: false }));
  const out = /^(?:diff|log|show|format-patch|archive|shortlog)$/.test(verb)
    ? plain(valuesOf(options, "o", "output", "output-directory"))
    : [];
  switch (verb) {
    case "checkout":
      return args.some((arg) => /^-[bB]$|^--orphan/.test(arg)) ? [] : whole(operands);
    case "restore":
      return has("S", "staged") && !has("W", "worktree") ? [] : whole(operands);
    case "rm":
      return has("cached", "n", "dry-run") ? [] : whole(operands);
    case "mv":
      return whole(operands);
    case "clean":
      return has("n", "dry-run") ? [] : whole(operands.length === 0 ? ["."] : operands);
    case "reset":
      return has("hard", "merge", "keep") ? whole(["."]) : [];
    case "apply":
    case "am":
      return has("check", "stat", "numstat", "summary") ? [] : patchedBy(command);
    case "config":
      return operands.length > 1 || /^--(?:add|unset|replace|rename|remove)/.test(args.join(" "))
        ? plain(valuesOf(options, "f", "file"))
        : [];
    case "bundle":
      return operands[0] === "create" ? plain(operands.slice(1, 2)) : [];
    case "worktree":
      return operands[0] === "add" ? plain(operands.slice(1, 2)) : [];
    case "clone":
      return plain(operands.slice(1));
    case "init":
      return plain(operands);
    default:
      return out;
  }
}

/** `:/`, `:(top)x`, `*`: pathspecs of git. */
function unmagic(field: string): string {
  const bare = field.replace(/^:(?:\/|\([^)]*\)|!)?/, "");
  return bare === "" || /^[*]+$/.test(bare) ? "." : bare;
}
