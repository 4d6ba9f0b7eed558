// What a reader of shell text knows at a place of it: variables, functions, directories, arguments. Runs nothing.

import { type AssignmentPrefix, forEachChild, type ParsedScript, type SyntaxNode, type Word } from "unbash";
import type { CommandInput, ShellCommand } from "./command.ts";
import {
  expandWord,
  FOREIGN,
  GLOB,
  isOpen,
  isWhollyOpen,
  type Names,
  OPEN,
  readings,
  SPLIT,
  UNSET,
} from "./fields.ts";
import { printedBy } from "./output.ts";
import type { Place } from "./targets.ts";

export interface Scope {
  readonly depth: number;
  readonly via: readonly string[];
  readonly parameters: readonly string[] | undefined;
  readonly input: CommandInput;
  /** Functions whose body is being read. */
  readonly inside: readonly string[];
}

export interface Reader {
  readonly place: Place;
  readonly found: ShellCommand[];
  readonly variables: Map<string, string[]>;
  readonly functions: Map<string, { readonly body: SyntaxNode; isCalled: boolean }>;
  directories: readonly string[];
  /** Words of the commands found so far. */
  words: number;
  /** `set -e` was said. */
  endsOnFailure: boolean;
  /** The text moves its arguments (`shift`), so that none of them is known. */
  movesArguments: boolean;
}

export const NOTHING: CommandInput = { from: [] };

export function changeDirectory(args: readonly string[], reader: Reader): void {
  const target = args.find((arg) => !/^-[LPe@]+$|^--$/.test(arg)) ?? reader.place.home;
  if (isOpen(target) || target.includes(GLOB) || /^[-+]/.test(target)) {
    reader.directories = [OPEN];
    return;
  }
  reader.directories = reader.directories.map((directory) =>
    target.startsWith("/") ? target : isOpen(directory) ? OPEN : `${directory}/${target}`,
  );
}

export function readAssignment(
  { name, value, append }: AssignmentPrefix,
  names: Names,
  reader: Reader,
): void {
  if (value.type === "ArrayValue")
    assign(
      name,
      value.elements.length === 0
        ? [""]
        : [value.elements.flatMap((word) => expandWord(word, names)).join(SPLIT)],
      reader,
    );
  else assign(name, append === true ? [OPEN] : markForeign(value, readings(value, names)), reader);
}

/** Programs that print what stands elsewhere; what others print is a name or a path most of the time. */
const FOREIGN_SOURCES =
  /(?:^|\/)(?:curl|wget2?|fetch|aria2c|https?|xh|lynx|w3m|nc|ncat|netcat|socat|ssh|cat|base32|base64|basenc|xxd|od|uudecode|openssl|gpg|gunzip|zcat|xzcat|bzcat|zstdcat|rev|tr)$/;

/** Readings of a word of which nothing is known, and that such a program prints. */
export function markForeign(word: SyntaxNode, values: readonly string[]): string[] {
  return values.some(isWhollyOpen) && runsForeign(word)
    ? values.map((value) => (isWhollyOpen(value) ? OPEN + FOREIGN : value))
    : [...values];
}

function runsForeign(node: SyntaxNode): boolean {
  if (node.type === "Command" && FOREIGN_SOURCES.test(node.name?.text ?? "")) return true;
  const inside = node.type === "CommandExpansion" ? (node.script?.commands ?? []) : [];
  if (inside.some(runsForeign)) return true;
  let isFound = false;
  forEachChild(node, (child) => {
    if (runsForeign(child)) isFound = true;
  });
  return isFound;
}

/** What builtins give to variables: `set --`, `read`, `mapfile`, `printf -v`, `declare -n`. `text`: what the command reads, where that is known. */
export function assignByBuiltin(
  name: string,
  args: readonly string[],
  text: string | undefined,
  reader: Reader,
): void {
  const names = args.filter((arg) => /^[A-Za-z_]\w*$/.test(arg));
  if (name === "set") {
    const dashes = args.indexOf("--");
    const words = dashes === -1 ? (/^[^-+]/.test(args[0] ?? "") ? args : []) : args.slice(dashes + 1);
    if (words.length === 0) return;
    reader.movesArguments = true;
    assign("@", [words.join(SPLIT)], reader);
  } else if (name === "read") {
    const lines = text?.split("\n").filter((line) => line !== "") ?? [];
    const pieces = names.length > 1 ? lines.flatMap((line) => line.split(/\s+/)) : lines;
    const known = [
      ...pieces,
      ...lines.map((line) =>
        line
          .trim()
          .split(/\s+/)
          .slice(names.length - 1)
          .join(" "),
      ),
    ];
    for (const one of names.length === 0 ? ["REPLY"] : names)
      assign(one, text === undefined ? [OPEN + FOREIGN] : known, reader);
  } else if (name === "mapfile" || name === "readarray") {
    const values = text === undefined ? [OPEN + FOREIGN] : text.split("\n").filter((line) => line !== "");
    for (const one of names.length === 0 ? ["MAPFILE"] : names) assign(one, values, reader);
  } else if (name === "printf" && args[0] === "-v" && args[1] !== undefined) {
    const printed = printedBy({ name, args: args.slice(2), directories: [OPEN], input: NOTHING });
    assign(args[1], [printed ?? OPEN], reader);
  } else if (/^(?:declare|typeset|local)$/.test(name) && args.some((arg) => /^-[A-Za-z]*n/.test(arg))) {
    for (const arg of args) {
      const [, one, other] = /^(\w+)=(\w+)$/.exec(arg) ?? [];
      if (one !== undefined && other !== undefined)
        assign(one, [...(reader.variables.get(other) ?? []), OPEN], reader);
    }
  }
}

/** A variable may have any value that it is given anywhere. */
export function assign(name: string, values: readonly string[], { variables }: Reader): void {
  if (name === UNSET) return;
  const before = name === "IFS" ? [] : (variables.get(name) ?? []);
  const all = [...new Set([...before, ...values])];
  variables.set(name, all.length > 64 ? [OPEN] : all);
}

export function namesOf({ parameters }: Scope, reader: Reader): Names {
  const { variables, place, directories } = reader;
  const names: Names = {
    variable: (name) => variables.get(name),
    parameters: reader.movesArguments ? undefined : parameters,
    separators: variables.get("IFS") ?? [],
    home: place.home,
    output: (script: ParsedScript | undefined) => outputOf(script, names, directories[0] ?? OPEN),
  };
  return names;
}

/** What a substitution of one simple command prints. */
function outputOf(script: ParsedScript | undefined, names: Names, directory: string): string | undefined {
  const [statement] = script?.commands ?? [];
  if (script?.commands.length !== 1 || statement?.command.type !== "Command") return undefined;
  const { name, args } = statement.command;
  if (name === undefined) return undefined;
  const words = args.flatMap((arg) => (arg.type === "Word" ? expandWord(arg as Word, names) : [OPEN]));
  return printedBy({ name: name.value, args: words, directories: [directory], input: NOTHING });
}
