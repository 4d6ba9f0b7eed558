// Commands that remove, empty or open up files: rm, find, mv, shred, truncate, chmod and what is like them.

import { optionsOf, type ShellCommand } from "../command.ts";
import { isOpen } from "../fields.ts";
import { readFind } from "../find-expression.ts";
import { readOptions, valuesOf } from "../read-options.ts";
import { breadthOf, isScratch } from "../targets.ts";
import { WRITERS } from "../writers.ts";
import { CANNOT_BE_READ, describeBroad, type Facts, quote, type Rule } from "./rule.ts";

const rm: Rule = (command, facts) => {
  const { short, long, rest } = optionsOf(command.args);
  if (long.includes("--help") || long.includes("--version")) return undefined;
  if (long.includes("--no-preserve-root")) return "removes without --preserve-root";
  const isRecursive = /[rR]/.test(short) || long.includes("--recursive");
  const source = namingSource(command);
  if (source !== undefined) {
    const bad = source(isRecursive);
    if (bad !== undefined) return `removes ${bad}`;
  }
  // One file that is not known is one file; `$X/*` is a folder.
  const broad = describeBroad(rest, command, facts, { isOpenFine: source !== undefined });
  const isSingle = !isRecursive && broad?.includes(CANNOT_BE_READ) === true && !broad.includes("*");
  return broad === undefined || isSingle ? undefined : `removes ${broad}`;
};

/** Judges what hands the names to `xargs rm`, `find -exec rm` and `while read`; undefined when the command names its targets itself. */
function namingSource({
  args,
  via,
  input,
  substitutions,
}: ShellCommand): ((isRecursive: boolean) => string | undefined) | undefined {
  if (!args.some(isOpen)) return undefined;
  const last = via.at(-1);
  if (last === "find" || last === "fd" || last === "fdfind") return () => undefined; // the rule of find judges it
  const listed = substitutions.filter(({ name }) => /^(?:g?find|fd|fdfind|ls|git)$/.test(name));
  if (last !== "xargs" && last !== "parallel" && input.from.length === 0 && listed.length === 0)
    return undefined;
  return (isRecursive) => {
    const [first] = input.from.length > 0 ? input.from : listed;
    if (first === undefined) return `what another program names, which ${CANNOT_BE_READ}`;
    const { name } = first;
    if ((name === "find" || name === "gfind") && readFind(first.args, () => false).printsTested)
      return undefined;
    if ((name === "fd" || name === "fdfind") && optionsOf(first.args).rest.length > 0) return undefined;
    const isSearch =
      /^(?:grep|egrep|rg|ag|ack)$/.test(name) || (name === "ls" && optionsOf(first.args).rest.length > 0);
    if (isSearch && !isRecursive) return undefined;
    if (
      name === "git" &&
      first.args.some((arg) => /^(?:--deleted|-d|diff|grep|status|--others|-o)$/.test(arg)) &&
      !isRecursive
    )
      return undefined;
    return `whatever ${name === "" ? "its input" : name} names, which ${CANNOT_BE_READ}`;
  };
}

const DELETERS = new Set(["rm", "shred", "unlink", "srm", "truncate", "dd", "wipe"]);

const find: Rule = (command, facts) => {
  const { removes, removesUntested, roots } = readFind(command.args, (words) => words.some(isDeleter));
  if (!removes) return undefined;
  for (const root of roots) {
    const breadth = breadthOf(root, command.directories, facts);
    if (breadth === "narrow") continue;
    if (breadth === "open") return `removes below ${quote(root)}, a target that ${CANNOT_BE_READ}`;
    const isProject = command.directories.every((directory) => isSamePlace(root, directory, facts.cwd));
    if (!removesUntested && ((isProject && !command.args.includes(".git")) || isScratch(root))) continue;
    return `removes what find finds below ${quote(root)}`;
  }
  return undefined;
};

function isDeleter(word: string): boolean {
  return DELETERS.has(word.slice(word.lastIndexOf("/") + 1));
}

function isSamePlace(root: string, directory: string, cwd: string): boolean {
  return (root === "." || root === "./" || root === cwd) && directory === cwd;
}

const fd: Rule = ({ args }) => {
  const at = args.findIndex((arg) => /^(?:-x|-X|--exec|--exec-batch)$/.test(arg));
  if (at === -1 || !args.slice(at + 1).some(isDeleter)) return undefined;
  const { rest } = optionsOf(args.slice(0, at));
  return rest.length > 0 && !/^[.*]*$/.test(rest[0] ?? "") ? undefined : "removes everything that fd finds";
};

const mv: Rule = (command, facts) => {
  const { options, operands } = readOptions(command.args, WRITERS.mv ?? {}, { isPermuted: true });
  const isInto = valuesOf(options, "t", "target-directory").length > 0;
  if (!isInto && operands.at(-1) === "/dev/null") return "moves files into /dev/null";
  const broad = describeBroad(isInto ? operands : operands.slice(0, -1), command, facts, {
    isOpenFine: true,
  });
  if (broad === undefined) return undefined;
  // Everything of a folder into one of its own folders is a tidy-up, not a loss.
  return /^"(?:\.\/)?\*+"$/.test(broad) ? undefined : `moves ${broad} away`;
};

const changeMode: Rule = (command, facts) => {
  const { short, long, rest } = optionsOf(command.args);
  const isRecursive = short.includes("R") || long.includes("--recursive");
  const targets = rest.slice(long.includes("--reference") ? 0 : 1);
  const removesAll = command.name === "chmod" && /^0*$/.test(rest[0] ?? "x");
  if (!isRecursive && !removesAll) return undefined;
  const broad = describeBroad(targets, command, facts, { isOpenFine: command.input.from.length > 0 });
  return broad === undefined ? undefined : `changes the mode or owner of all of ${broad}`;
};

const shred: Rule = ({ args }) =>
  optionsOf(args).rest.length === 0 ? undefined : "overwrites files so that nothing brings them back";

const truncate: Rule = (command, facts) => {
  const { args } = command;
  const isEmptying = args.some(
    (arg, index) => /^(?:-s|--size=)0*$/.test(arg) || (args[index - 1] === "-s" && /^0+$/.test(arg)),
  );
  if (!isEmptying) return undefined;
  const targets = optionsOf(args).rest.filter((arg) => !/^\d+$/.test(arg));
  const broad = describeBroad(targets, command, facts, { isOpenFine: true });
  if (broad !== undefined) return `empties ${broad}`;
  return describeEmptied(targets, command, facts);
};

/** A file that is there, holds something and is no log. */
export function describeEmptied(
  targets: readonly string[],
  { directories }: ShellCommand,
  { holdsText }: Facts,
): string | undefined {
  const lost = targets.find(
    (target) =>
      !isOpen(target) &&
      !/(?:\.(?:log|out|err|tmp|txt)|(?:^|\/)nohup\.out)$|(?:^|\/)(?:logs?|tmp)\//.test(target) &&
      directories.some(
        (directory) =>
          !isOpen(directory) && holdsText(target.startsWith("/") ? target : `${directory}/${target}`),
      ),
  );
  return lost === undefined ? undefined : `empties ${quote(lost)}, which holds something`;
}

const rsync: Rule = (command, facts) => {
  const { long, rest } = optionsOf(command.args);
  if (long.includes("--remove-source-files")) {
    const source = describeBroad(rest.slice(0, -1), command, facts);
    if (source !== undefined) return `moves ${source} away`;
  }
  if (!long.some((option) => /^--del(?:ete.*)?$/.test(option)) || long.includes("--dry-run"))
    return undefined;
  const broad = describeBroad(rest.slice(-1), command, facts);
  return broad === undefined ? undefined : `removes what is not in the source from ${broad}`;
};

const recursive: Rule = (command, facts) => {
  const broad = describeBroad(optionsOf(command.args).rest, command, facts);
  return broad === undefined ? undefined : `removes ${broad}`;
};

const powershell: Rule = ({ args }) =>
  args.some((arg) => /^-r(?:ecurse)?$/i.test(arg) || /^\/s$/i.test(arg))
    ? "removes folders with all that is in them"
    : undefined;

export const REMOVING: Readonly<Record<string, Rule>> = {
  rm,
  unlink: rm,
  srm: shred,
  wipe: shred,
  shred,
  find,
  gfind: find,
  fd,
  fdfind: fd,
  mv,
  chmod: changeMode,
  chown: changeMode,
  chgrp: changeMode,
  setfacl: changeMode,
  truncate,
  rsync,
  rimraf: recursive,
  "del-cli": recursive,
  trash: recursive,
  "trash-put": recursive,
  "remove-item": powershell,
  ri: powershell,
  rd: powershell,
  del: powershell,
};
