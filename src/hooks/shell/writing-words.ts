// Which words of a command name what it changes, removes or makes. A list of well-known programs: what another one writes to is not seen.

import type { ShellCommand } from "./command.ts";
import { isOpen, isWhollyOpen, OPEN } from "./fields.ts";
import { readFind } from "./find-expression.ts";
import { gitWrites } from "./git-writes.ts";
import { patchedBy } from "./patch-paths.ts";
import { readOptions, valuesOf } from "./read-options.ts";
import { WRITERS } from "./writers.ts";

export interface Touched {
  readonly field: string;
  /** The command takes a folder with all that is in it. */
  readonly isWhole: boolean;
  /** It is touched only if this one is a folder: `cp a b` makes `b/a` then. */
  readonly ifFolder?: string;
  /** Below the folder `field`, only files of these names, `*` and `?` in them. */
  readonly names?: readonly string[];
  /** Git's own folder stays as it is. */
  readonly sparesGit?: boolean;
}

/** Words in a writing position, and what redirects write to. */
export function touchedBy(command: ShellCommand): Touched[] {
  const redirected = command.redirections.flatMap(({ operator, targets }) =>
    operator.includes(">") && !(operator === ">&" && targets.every((target) => /^(?:\d+|-)$/.test(target)))
      ? targets
      : [],
  );
  const own = ownWords(command);
  // What is not known here, another command names: `find | xargs rm`, `rm $(ls)`.
  const isListed = own.some(({ field }) => isWhollyOpen(field));
  return [
    ...own,
    ...(isListed ? [...command.input.from, ...command.substitutions].flatMap(listedBy) : []),
    ...redirected.map((field) => ({ field, isWhole: false })),
  ];
}

function ownWords(command: ShellCommand): Touched[] {
  const { name, args } = command;
  if (name === "git") return gitWrites(command);
  if (name === "find" || name === "gfind") return findWrites(args);
  if (/^(?:apply_?patch|patch)$/.test(name)) return [...patchedBy(command), ...writerWords(name, args)];
  if (/^[gmn]?awk$/.test(name)) return awkWrites(args);
  if (name === "dd")
    return args.flatMap((arg) => (arg.startsWith("of=") ? [{ field: arg.slice(3), isWhole: false }] : []));
  const verb = args.findIndex((arg) => /^(?:cp|sync|mv)$/.test(arg));
  if (/^(?:docker|podman|nerdctl|kubectl|oc|aws|gsutil|gcloud)$/.test(name) && verb !== -1)
    return writerWords("scp", args.slice(verb + 1)); // `docker cp c:/x y`: like a copy from another machine
  return writerWords(name, args);
}

function writerWords(name: string, all: readonly string[]): Touched[] {
  const writer = Object.hasOwn(WRITERS, name) ? WRITERS[name] : undefined;
  if (writer === undefined) return [];
  const args = name === "tar" || name === "bsdtar" ? modernTar(all) : all;
  const { options, operands } = readOptions(args, writer, { isPermuted: true });
  const given = new Set(options.map((option) => option.name));
  const has = (names: string | undefined) => (names ?? "").split(" ").some((one) => given.has(one));
  if (has(writer.never)) return [];
  const into = valuesOf(options, ...(writer.into ?? "").split(" ")).at(-1);
  const inside = (field: string) =>
    into === undefined || field.startsWith("/") ? field : `${into}/${field}`;
  const isWhole = writer.isWhole === true || has(writer.wholeIf);
  const touched = (field: string): Touched => ({ field, isWhole });
  const outputs = valuesOf(options, ...(writer.out ?? "").split(" "))
    .map(inside)
    .map(touched);
  const folder = into === undefined ? [] : [touched(into)];
  const dashed = [...singleDash(args, writer.dashed)].map(touched);
  const found = [...outputs, ...folder, ...dashed];
  if (/^(?:bsd)?tar$/.test(name) && has("c r u create append update"))
    found.push(...valuesOf(options, "f", "file").map(touched));
  if (writer.onlyIf !== undefined && !has(writer.onlyIf)) return [...found, ...scriptWrites(name, all)];
  switch (writer.words) {
    case "all":
      found.push(...operands.map(touched));
      break;
    case "first":
      found.push(...operands.slice(0, 1).map(touched));
      break;
    case "behind-first":
      found.push(...operands.slice(1).map(inside).map(touched));
      break;
    case "last":
      found.push(
        ...lastWords(name, operands, into, has).map((one) => ({ ...one, isWhole: isWhole || one.isWhole })),
      );
      break;
    case "url":
      if (writer.urlIf === undefined ? !has("O output-document") : has(writer.urlIf))
        found.push(...operands.map((url) => touched(inside(nameOfUrl(url)))));
      break;
    default:
  }
  return [...found, ...scriptWrites(name, all)].filter(({ field }) => field !== "" && field !== "-");
}

/** `cp a b`: b; if b is a folder, `b/a`. `mv` takes the others away too, and `install -d` makes them all. */
function lastWords(
  name: string,
  operands: readonly string[],
  into: string | undefined,
  has: (names: string) => boolean,
): Touched[] {
  const isMove = name === "mv" || has("remove-source-files");
  const isAll = name === "install" && has("d directory");
  const target = into ?? (name === "ln" && operands.length === 1 ? "." : operands.at(-1));
  if (target === undefined) return [];
  const sources = into === undefined && operands.length > 1 ? operands.slice(0, -1) : operands;
  const remote = /^[^/]+:/.test(target);
  return [
    ...(isMove || isAll ? sources.map((field) => ({ field, isWhole: isMove })) : []),
    ...(remote ? [] : [{ field: target, isWhole: false }]),
    ...(remote || (into === undefined && operands.length < 2 && name !== "ln")
      ? []
      : sources.map((word) => ({ field: `${target}/${baseName(word)}`, isWhole: false, ifFolder: target }))),
  ];
}

/** The last part of a path, on another machine too. */
function baseName(word: string): string {
  return word.replace(/\/+$/, "").replace(/^.*[/:]/s, "");
}

function nameOfUrl(url: string): string {
  return baseName(url.replace(/[?#].*$/s, "").replace(/^[a-z]+:\/\/[^/]*\/?$/i, "index.html"));
}

/** `-out x`, `-keyout=x`: long names with one dash. */
function singleDash(args: readonly string[], names: string | undefined): string[] {
  const marks = (names ?? "").split(" ").filter((name) => name !== "");
  return args.flatMap((arg, index) => {
    const attached = marks
      .filter((mark) => arg.startsWith(`-${mark}=`))
      .map((mark) => arg.slice(mark.length + 2));
    return marks.includes((args[index - 1] ?? "").replace(/^-/, "")) && args[index - 1]?.startsWith("-")
      ? [arg]
      : attached;
  });
}

/** `w file` of sed; `--x_out=dir` of protoc. */
function scriptWrites(name: string, args: readonly string[]): Touched[] {
  if (name === "protoc")
    return args.flatMap((arg) => {
      const field = /^--\w+_out=(?:.*:)?(.*)$/s.exec(arg)?.[1];
      return field === undefined ? [] : [{ field, isWhole: false }];
    });
  if (name !== "sed" && name !== "gsed") return [];
  return args.flatMap((arg) =>
    [...arg.matchAll(/w\s+([^\s;}]+)/g)].map(([, field = ""]) => ({ field, isWhole: false })),
  );
}

/** `print > "file"`, `print | "tee file"`, and `-i inplace`. */
function awkWrites(args: readonly string[]): Touched[] {
  const words = args.flatMap((arg) =>
    [...arg.matchAll(/(?:>>?|\|&?)\s*"([^"\n]*)"/g)].flatMap(([, text = ""]) => text.split(/\s+/)),
  );
  const isInPlace = args.some(
    (arg, index) => arg === "inplace" && /^(?:-i|--include)$/.test(args[index - 1] ?? ""),
  );
  const files = isInPlace ? args.filter((arg) => !arg.startsWith("-")) : [];
  return [...words, ...files].map((field) => ({ field, isWhole: false }));
}

/** `tar czf a b` as `tar -c -z -f a b`. */
function modernTar([first = "", ...rest]: readonly string[]): string[] {
  if (first.startsWith("-") || first === "") return [first, ...rest];
  const options = [...first].flatMap((letter) =>
    "fCTXbgKLNHVI".includes(letter) && rest.length > 0
      ? [`-${letter}`, rest.shift() as string]
      : [`-${letter}`],
  );
  return [...options, ...rest];
}

const REMOVERS = /^(?:.*\/)?(?:rm|shred|unlink|srm|truncate|mv)$/;

/** Folders in which `find` removes, or runs what writes to the files it finds. */
function findWrites(args: readonly string[]): Touched[] {
  const { execs, removes, removesUntested } = readFind(args, (words) => REMOVERS.test(words[0] ?? ""));
  const writing = execs.filter(({ words: [program = "", ...words] }) => {
    const name = program.replace(/^.*\//s, "");
    return writerWords(
      name,
      words.map((word) => word.replaceAll("{}", OPEN)),
    ).some(({ field }) => isOpen(field));
  });
  const printed = args.flatMap((arg, index) => (/^-f(?:print|ls)/.test(args[index - 1] ?? "") ? [arg] : []));
  const own = printed.map((field) => ({ field, isWhole: false }));
  if (!removes && writing.length === 0) return own;
  return [...own, ...foundBy(args, removesUntested || writing.some(({ isTested }) => !isTested))];
}

/** The folders that `find` looks in: all of them, or files of some names. */
function foundBy(args: readonly string[], isUntested: boolean): Touched[] {
  const { roots } = readFind(args, () => false);
  const names = args.flatMap((arg, index) => (/^-i?name$/.test(args[index - 1] ?? "") ? [arg] : []));
  const isByName =
    !isUntested &&
    names.length > 0 &&
    !args.some((arg) => /^(?:-i?path|-i?wholename|-i?regex|!|-not)$/.test(arg)) &&
    !(
      args.some((arg) => arg === "-o" || arg === "-or") &&
      args.some((arg) => /^-(?:[acm](?:time|min)|size|empty)$/.test(arg))
    );
  return roots.map((field) => (isByName ? { field, isWhole: false, names } : { field, isWhole: true }));
}

/** What a command lists, for another to write to. */
function listedBy({ name, args }: ShellCommand): Touched[] {
  if (name === "find" || name === "gfind") return foundBy(args, !readFind(args, () => false).printsTested);
  if (name !== "ls" && name !== "fd" && name !== "fdfind" && name !== "git") return [];
  if (name === "git" && !args.includes("ls-files")) return [];
  const places = name === "ls" ? args.filter((arg) => !arg.startsWith("-")) : [];
  const sparesGit = name === "git" ? { sparesGit: true } : {};
  return (places.length === 0 ? ["."] : places).map((field) => ({ field, isWhole: true, ...sparesGit }));
}
