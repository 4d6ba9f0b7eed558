// Which words of a command name what it changes, removes or makes. A list of well-known programs: what another one writes to is not seen.

import { optionsOf, type ShellCommand } from "./command.ts";

export interface Touched {
  readonly field: string;
  /** The command takes a folder with all that is in it. */
  readonly isWhole: boolean;
  /** It is touched only if this one is a folder: `cp a b` makes `b/a` then. */
  readonly ifFolder?: string;
}

const ALL = new Set(
  "rm unlink rmdir shred srm touch tee truncate mkdir mkfifo mknod chattr sponge rimraf del-cli trash trash-put patch vim vi nvim nano emacs ed ex pico gzip gunzip bzip2 xz zstd dos2unix unix2dos strip split csplit".split(
    " ",
  ),
);
/** Their last word is written to; `mv` takes the others away too. */
const LAST = new Set("cp mv ln install rsync scp ditto link".split(" "));
/** Their first word is a mode or an owner. */
const WITH_MODE = new Set("chmod chown chgrp setfacl".split(" "));
const FORMATTERS = new Set(
  "prettier eslint biome black ruff gofmt rustfmt autopep8 isort sed gsed perl ruby".split(" "),
);
const WHOLE = new Set("rm mv rimraf del-cli trash trash-put shred srm".split(" "));

/** Words in a writing position, and what redirects write to. */
export function touchedBy(command: ShellCommand): Touched[] {
  const isClean = command.name === "git" && command.args.includes("clean");
  const isWhole = WHOLE.has(command.name) || isRecursive(command) || isClean;
  const redirected = command.redirections.flatMap(({ operator, targets }) =>
    operator.includes(">") && !(operator === ">&" && targets.every((target) => /^(?:\d+|-)$/.test(target)))
      ? targets
      : [],
  );
  return [
    ...writtenWords(command).map((field) => ({ field, isWhole })),
    ...wordsUnderTarget(command),
    ...redirected.map((field) => ({ field, isWhole: false })),
  ];
}

function isRecursive({ name, args }: ShellCommand): boolean {
  const { short, long } = optionsOf(args);
  if (name === "rsync") return long.some((option) => option.startsWith("--del"));
  return /^(?:chmod|chown|chgrp)$/.test(name) && (short.includes("R") || long.includes("--recursive"));
}

function writtenWords({ name, args }: ShellCommand): readonly string[] {
  const { rest } = optionsOf(args);
  if (ALL.has(name)) return rest;
  if (LAST.has(name)) {
    const target = optionValue(args, "-t", "--target-directory");
    const written = target === undefined ? rest.slice(-1) : [target];
    return name === "mv" ? [...rest, ...written] : written;
  }
  if (WITH_MODE.has(name)) return rest.slice(1);
  if (name === "dd") return args.flatMap((arg) => (arg.startsWith("of=") ? [arg.slice(3)] : []));
  if (FORMATTERS.has(name)) return isInPlace(name, args) ? rest : [];
  if (name === "git") return gitWords(args);
  if (name === "find" || name === "gfind") {
    const end = args.findIndex((arg) => /^[-(!]/.test(arg));
    const takes =
      args.includes("-delete") ||
      args.some(
        (arg) =>
          /^-(?:exec|ok)/.test(arg) && /^(?:rm|mv|shred|truncate)$/.test(args[args.indexOf(arg) + 1] ?? ""),
      );
    return takes
      ? [...args.slice(0, end === -1 ? undefined : end), ...valuesAfter(args, /^-i?(?:name|path)$/)]
      : valuesAfter(args, /^-fprint/);
  }
  if (name === "curl")
    return valuesAfter(args, /^(?:-[a-zA-Z]*o|--output|-D|--dump-header|-c|--cookie-jar)$/);
  if (name === "wget") return valuesAfter(args, /^(?:-[a-zA-Z]*[oO]|--output-document|--output-file|-P)$/);
  if (
    name === "sort" ||
    name === "gcc" ||
    name === "cc" ||
    name === "jq" ||
    name === "tsc" ||
    name === "openssl" ||
    name === "gpg" ||
    name === "age"
  )
    return valuesAfter(args, /^(?:-o|--output|-out|--outfile)$/);
  if (name === "tar" || name === "bsdtar")
    return [
      ...valuesAfter(args, /^(?:-C|--directory)$/),
      ...(/^-?[a-zA-Z]*c/.test(args[0] ?? "") ? valuesAfter(args, /^-?[a-zA-Z]*f$/) : []),
    ];
  if (name === "unzip") return valuesAfter(args, /^-d$/);
  if (name === "sqlite3") return rest.slice(0, 1);
  return [];
}

/** `cp a b dir` makes `dir/a` and `dir/b`. */
function wordsUnderTarget({ name, args }: ShellCommand): Touched[] {
  if (!LAST.has(name)) return [];
  const { rest } = optionsOf(args);
  const target = optionValue(args, "-t", "--target-directory") ?? rest.at(-1);
  if (target === undefined) return [];
  return rest
    .filter((word) => word !== target)
    .map((word) => ({
      field: `${target}/${word.replace(/\/+$/, "").replace(/^.*\//s, "")}`,
      isWhole: false,
      ifFolder: target,
    }));
}

function isInPlace(name: string, args: readonly string[]): boolean {
  if (
    name === "gofmt" ||
    name === "ruff" ||
    name === "black" ||
    name === "rustfmt" ||
    name === "autopep8" ||
    name === "isort"
  )
    return true;
  if (/^(?:prettier|eslint|biome)$/.test(name))
    return args.some((arg) => /^(?:--write|-w|--fix|--unsafe)$/.test(arg));
  return args.some((arg) => /^(?:-[a-zA-Z]*i|--in-place)/.test(arg));
}

const GIT_WRITES = new Set("checkout restore rm mv clean reset apply update-index".split(" "));

function gitWords(args: readonly string[]): string[] {
  let at = 0;
  while (at < args.length && (args[at] as string).startsWith("-"))
    at += /^-[Cc]$/.test(args[at] as string) ? 2 : 1;
  const paths = args.slice(at + 1).filter((arg) => !arg.startsWith("-"));
  if (args[at] === "clean") return paths.length === 0 ? ["."] : paths;
  return GIT_WRITES.has(args[at] ?? "") ? paths : [];
}

function valuesAfter(args: readonly string[], mark: RegExp): string[] {
  return args.flatMap((arg, index) => {
    const [head = "", value] = arg.split(/=(.*)/s);
    if (value !== undefined && mark.test(head)) return [value];
    return mark.test(args[index - 1] ?? "") ? [arg] : [];
  });
}

function optionValue(args: readonly string[], short: string, long: string): string | undefined {
  return valuesAfter(args, new RegExp(`^(?:${short}|${long})$`))[0];
}
