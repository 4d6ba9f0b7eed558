// What a reader of shell text knows at a place of it: variables, functions, directories, arguments. Runs nothing.

import type { AssignmentPrefix, ParsedScript, SyntaxNode, Word } from "unbash";
import type { CommandInput, ShellCommand } from "./command.ts";
import { expandWord, GLOB, isOpen, type Names, OPEN, readings, SPLIT, UNSET } from "./fields.ts";
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
  else assign(name, append === true ? [OPEN] : readings(value, names), reader);
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
