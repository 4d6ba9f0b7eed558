// What git takes away for good: work that is not committed, history, and what others see of it.

import { optionsOf, type ShellCommand } from "../command.ts";
import { isOpen } from "../fields.ts";
import { GIT_OPTIONS } from "../git-writes.ts";
import { readOptions, valuesOf } from "../read-options.ts";
import { describeBroad, type Facts, quote, type Rule } from "./rule.ts";

type Verb = (args: readonly string[], command: ShellCommand, facts: Facts) => string | undefined;

const WORK = "throws away work that is not committed";
const HISTORY = "rewrites or drops history";

export const git: Rule = (command, facts) => {
  const { options, operands } = readOptions(command.args, GIT_OPTIONS);
  const [verb, ...given] = operands;
  const dashes = given.indexOf("--");
  const rest = given.map((arg, index) => (dashes === -1 || index < dashes ? wholeOption(arg) : arg));
  if (verb === undefined || rest.includes("--help") || rest.includes("-h")) return undefined;
  if (isOpen(verb))
    return rest.some((arg) => /^(?:-f|--force|--hard|-fdx?|--mirror)$/.test(arg))
      ? "has a git verb that cannot be read"
      : undefined;
  const settings = valuesOf(options, "c").join("\n").toLowerCase();
  if (
    verb === "clean" &&
    /^clean\.requireforce=(?:false|0|no|off)$/m.test(settings) &&
    !rest.some((arg) => /^-\w*n|^--dry/.test(arg))
  )
    return "removes files that git does not know";
  if (verb === "push" && /^remote\..*\.(?:mirror=(?:true|1|yes|on)|push=\+)/m.test(settings))
    return "pushes by force";
  const judge = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  return judge?.(rest, command, facts);
};

/** Long options of the verbs below; those that mean less stand before those that begin alike and destroy. */
const LONG =
  "all branch cached create delete detach discard-changes dry-run expire force force-with-lease force-if-includes hard help keep merge mirror mixed no-verify orphan ours patch progress prune quiet recurse-submodules root soft source staged tags theirs track verbose worktree".split(
    " ",
  );

/** git takes long names cut short: `--har`. */
function wholeOption(arg: string): string {
  const [, name = "", value = ""] = /^--([a-z][a-z-]*)(=.*)?$/s.exec(arg) ?? [];
  if (name === "" || LONG.includes(name)) return arg;
  const whole = LONG.find((long) => long.startsWith(name));
  return whole === undefined ? arg : `--${whole}${value}`;
}

const DEFAULT_BRANCH =
  /^(?:refs\/heads\/)?(?:main|master|trunk|develop|development|production|prod|release(?:[/-].*)?)$/;

const push: Verb = (args) => {
  const { short, long, rest } = optionsOf(args);
  if (long.includes("--dry-run") || short.includes("n")) return undefined;
  if (short.includes("f") || long.includes("--force")) return "pushes by force";
  if (long.some((option) => option === "--force-with-lease") && long.includes("--all"))
    return "pushes all branches by force";
  if (long.includes("--mirror") || long.includes("--prune")) return "deletes branches of the remote";
  const refs = rest.slice(1);
  if (short.includes("d") || long.includes("--delete"))
    return `deletes ${refs.map(quote).join(", ")} of the remote`;
  for (const ref of refs) {
    if (ref.startsWith("+")) return `pushes ${quote(ref)} by force`;
    if (ref.startsWith(":") && ref.length > 1) return `deletes ${quote(ref.slice(1))} of the remote`;
    const branch = ref.slice(ref.lastIndexOf(":") + 1);
    if (long.some((option) => option.startsWith("--force-with-lease")) && DEFAULT_BRANCH.test(branch))
      return `pushes to ${quote(branch)} by force`;
  }
  return undefined;
};

const clean: Verb = (args) => {
  const { short, long } = optionsOf(args);
  const isForced = short.includes("f") || long.includes("--force");
  const isDry = short.includes("n") || long.includes("--dry-run");
  return isForced && !isDry ? "removes files that git does not know" : undefined;
};

/** `.`, `:/`, `*` and the like: all of the work tree. */
function coversAll(args: readonly string[], command: ShellCommand, facts: Facts): boolean {
  const paths = args.filter((arg) => !arg.startsWith("-"));
  return (
    paths.some((path) => /^:(?:\/|\(top\)|!.*)?$|^[./*]+$/.test(path)) ||
    describeBroad(paths, command, facts, { isOpenFine: true }) !== undefined
  );
}

const checkout: Verb = (args, command, facts) => {
  const { short, long } = optionsOf(args);
  if (/[f]/.test(short) || long.includes("--force")) return WORK;
  if (short.includes("b") || short.includes("B") || long.includes("--orphan")) return undefined;
  return coversAll(args, command, facts) ? WORK : undefined;
};

const restore: Verb = (args, command, facts) => {
  const { short, long } = optionsOf(args);
  const isIndexOnly =
    (short.includes("S") || long.includes("--staged")) &&
    !short.includes("W") &&
    !long.includes("--worktree");
  return !isIndexOnly && coversAll(args, command, facts) ? WORK : undefined;
};

const VERBS: Readonly<Record<string, Verb>> = {
  push,
  clean,
  checkout,
  restore,
  reset: (args) =>
    optionsOf(args).long.some((option) => option === "--hard" || option === "--merge") ? WORK : undefined,
  switch: (args) => {
    const { short, long } = optionsOf(args);
    return short.includes("f") || long.includes("--force") || long.includes("--discard-changes")
      ? WORK
      : undefined;
  },
  stash: (args) => {
    const [verb] = optionsOf(args).rest;
    return verb === "drop" || verb === "clear" ? WORK : undefined;
  },
  branch: (args) => {
    const { short, long } = optionsOf(args);
    const isForced =
      short.includes("D") ||
      ((short.includes("d") || long.includes("--delete")) &&
        (short.includes("f") || long.includes("--force")));
    return isForced ? "deletes a branch whether it is merged or not" : undefined;
  },
  rm: (args, command, facts) =>
    optionsOf(args).long.includes("--cached") || !coversAll(args, command, facts)
      ? undefined
      : "removes all files",
  rebase: (args) => (optionsOf(args).long.includes("--root") ? HISTORY : undefined),
  reflog: ([verb]) => (verb === "expire" || verb === "delete" ? HISTORY : undefined),
  gc: (args) => (/(?:^|\n)--prune[=\n](?:now|all)/.test(args.join("\n")) ? HISTORY : undefined),
  prune: (args) => (optionsOf(args).short.includes("n") || args.includes("--dry-run") ? undefined : HISTORY),
  "filter-branch": () => HISTORY,
  "filter-repo": (args) => (args.includes("--analyze") || args.includes("--dry-run") ? undefined : HISTORY),
  replace: (args) => (args.length === 0 || optionsOf(args).short.includes("l") ? undefined : HISTORY),
  "update-ref": (args) => (args.includes("-d") || args.includes("--stdin") ? HISTORY : undefined),
  worktree: ([verb, ...args]) =>
    verb === "remove" && (optionsOf(args).short.includes("f") || args.includes("--force")) ? WORK : undefined,
  submodule: ([verb, ...args], command, facts) =>
    verb === "deinit" &&
    optionsOf(args).short.includes("f") &&
    (args.includes("--all") || coversAll(args, command, facts))
      ? WORK
      : undefined,
  "checkout-index": (args) =>
    /f/.test(optionsOf(args).short) && /a/.test(optionsOf(args).short) ? WORK : undefined,
};
