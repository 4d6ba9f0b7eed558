// Reads the text of a shell command into the commands it would run, those in substitutions, functions, wrappers and nested texts too. Runs
// nothing, reads no file. What cannot be read is said in `problem`: a caller that guards must treat it as the worst.

import { posix } from "node:path";
import {
  type Command,
  forEachChild,
  type Pipeline,
  parse,
  type Redirection as RedirectionNode,
  type Statement,
  type SyntaxNode,
} from "unbash";
import type { CommandInput, Redirection, ShellCommand, ShellReading } from "./command.ts";
import { expandWord, isWhollyOpen, OPEN, readings, splitFields, toScript } from "./fields.ts";
import { callsItself } from "./fork-bomb.ts";
import { printedBy } from "./output.ts";
import {
  assign,
  assignByBuiltin,
  changeDirectory,
  markForeign,
  NOTHING,
  namesOf,
  type Reader,
  readAssignment,
  type Scope,
} from "./scope.ts";
import { readShellArguments, readsShellInput, SHELLS } from "./shell-arguments.ts";
import type { Place } from "./targets.ts";
import { unwrap } from "./unwrap.ts";

/** Longest text that is read, in UTF-16 units. */
export const SHELL_TEXT_MAX = 1024 * 1024;
const DEPTH_MAX = 24;
/** Commands that are looked at, so that no text makes the reader slow. */
const COMMANDS_MAX = 5_000;
/** Words of all commands together. */
const WORDS_MAX = 1_000_000;
const STAGES_MAX = 100;
/** Directories in which a command may stand; beyond, it may stand anywhere. */
const DIRECTORIES_MAX = 16;

/** Leaves this module as `problem` alone. */
class Unreadable extends Error {}

/** `cwd` and `home` are what relative words, `~` and `$HOME` are read against. Throws nothing. */
export function readShell(text: string, place: Place): ShellReading {
  const start = posix.resolve(place.cwd, place.start ?? ".");
  const reader: Reader = {
    place,
    found: [],
    variables: new Map([
      ["HOME", [place.home]],
      ["PWD", [start]],
      ["TMPDIR", ["/tmp/x"]],
      ["SHELL", ["/bin/bash"]],
      ["IFS", [" "]],
    ]),
    functions: new Map(),
    directories: [start],
    endsOnFailure: false,
    words: 0,
    movesArguments: false,
  };
  const scope: Scope = { depth: 0, via: [], parameters: undefined, input: NOTHING, inside: [] };
  try {
    readText(text, scope, reader);
    for (const [name, { body, isCalled }] of reader.functions)
      if (!isCalled) readNode(body, { ...scope, inside: [name], via: [name] }, reader);
    return { commands: reader.found };
  } catch (error) {
    const why = error instanceof Unreadable ? error.message : `cannot be read: ${(error as Error).message}`;
    return { commands: reader.found, problem: why };
  }
}

function readText(text: string, scope: Scope, reader: Reader): void {
  if (scope.depth > DEPTH_MAX) throw new Unreadable(`is nested deeper than ${DEPTH_MAX} levels`);
  if (text.length > SHELL_TEXT_MAX)
    throw new Unreadable(`has ${text.length} characters; at most ${SHELL_TEXT_MAX} are read`);
  if (text.includes("\0")) throw new Unreadable("holds a NUL character");
  if (/\b(?:shift|set\s+--|getopts)/.test(text)) reader.movesArguments = true;
  const script = parse(text);
  const [problem] = script.errors ?? [];
  if (problem !== undefined)
    throw new Unreadable(`cannot be parsed: ${problem.message} at character ${problem.pos}`);
  readStatements(script.commands, { ...scope, depth: scope.depth + 1 }, reader);
}

function readStatements(statements: readonly Statement[], scope: Scope, reader: Reader): void {
  for (const { command } of statements) {
    const before = reader.directories;
    if (command.type === "AndOr") for (const part of command.commands) readNode(part, scope, reader);
    else readNode(command, scope, reader);
    // Behind `;` a `cd` may have failed, unless a failure ends it all.
    if (reader.endsOnFailure || endsOnFailure(command)) continue;
    const all = [...new Set([...before, ...reader.directories])];
    reader.directories = all.length > DIRECTORIES_MAX ? [OPEN] : all;
  }
}

/** `cd x || exit 1` */
function endsOnFailure(command: Statement["command"]): boolean {
  if (command.type !== "AndOr" || command.operators.at(-1) !== "||") return false;
  const last = command.commands.at(-1);
  return last?.type === "Command" && /^(?:exit|return)$/.test(last.name?.text ?? "");
}

/** Whatever holds commands; words are read by `readCommand` and `readWords`. */
function readNode(node: SyntaxNode, scope: Scope, reader: Reader): void {
  switch (node.type) {
    case "Command":
      readCommand(node, scope, reader);
      return;
    case "Pipeline":
      readPipeline(node, scope, reader);
      return;
    case "CompoundList":
    case "Script":
      readStatements(node.commands, scope, reader);
      return;
    case "Function": {
      const { name, body } = node;
      const isBomb = callsItself(name.value, body);
      if (isBomb)
        throw new Unreadable(
          `defines ${JSON.stringify(name.value)}, which starts itself again and again: a fork bomb`,
        );
      reader.functions.set(name.value, { body, isCalled: false });
      return;
    }
    case "Redirected": {
      const { redirections, input } = readRedirects(node.redirects, scope, reader);
      emit({ name: "", args: [], redirections, substitutions: [] }, scope, reader);
      readNode(node.command, { ...scope, input: input ?? scope.input }, reader);
      return;
    }
    case "Subshell": {
      const before = reader.directories;
      readNode(node.body, scope, reader);
      reader.directories = before;
      return;
    }
    case "For":
    case "Select": {
      const values = node.wordlist?.flatMap((word) =>
        markForeign(word, expandWord(word, namesOf(scope, reader))),
      ) ?? [OPEN];
      for (const word of node.wordlist ?? []) readSubstitutions(word, scope, reader);
      assign(node.name.value, values, reader);
      readNode(node.body, scope, reader);
      return;
    }
    case "Word":
      readSubstitutions(node, scope, reader);
      return;
    default:
      forEachChild(node, (child) => readNode(child, scope, reader));
  }
}

function readPipeline({ commands }: Pipeline, scope: Scope, reader: Reader): void {
  if (commands.length > STAGES_MAX)
    throw new Unreadable(`has a pipeline of more than ${STAGES_MAX} commands`);
  let from: readonly ShellCommand[] = [];
  const before = reader.directories;
  for (const [index, command] of commands.entries()) {
    const start = reader.found.length;
    readNode(command, index === 0 ? scope : { ...scope, input: { from } }, reader);
    from = [...from, ...reader.found.slice(start)];
    if (commands.length > 1) reader.directories = before;
  }
}

function readCommand(node: Command, scope: Scope, reader: Reader): void {
  const names = namesOf(scope, reader);
  const start = reader.found.length;
  for (const child of [...node.prefix, ...(node.name === undefined ? [] : [node.name]), ...node.suffix])
    readSubstitutions(child, scope, reader);
  const substitutions = reader.found.slice(start);
  const { redirections, input } = readRedirects(node.redirects, scope, reader);
  for (const one of node.prefix) if (one.type === "Assignment") readAssignment(one, names, reader);
  const args = node.args.flatMap((arg) => {
    if (arg.type === "Word") return expandWord(arg, names);
    readAssignment(arg, names, reader);
    const { value } = arg;
    return value.type === "Word"
      ? readings(value, names).map((reading) => `${arg.name}=${reading}`)
      : [arg.text];
  });
  const isFed = redirections.some(({ operator, targets }) => operator === "<" && targets.includes(OPEN));
  const fed = isFed && substitutions.length > 0 ? { from: substitutions } : undefined; // `< <(x)`
  const own = { ...scope, input: input ?? fed ?? scope.input };
  if (node.name === undefined) {
    if (redirections.length > 0) emit({ name: "", args: [], redirections, substitutions }, own, reader);
    return;
  }
  if (node.name.parts?.some(({ type }) => type === "BraceExpansion")) {
    run([...expandWord(node.name, names), ...args], { redirections, substitutions }, own, reader);
    return;
  }
  for (const reading of readings(node.name, names)) {
    const [program, ...more] = splitFields(reading);
    if (/^-./.test(program ?? "")) {
      // No program is named so: these are options of the keyword `time`.
      run(["time", program as string, ...more, ...args], { redirections, substitutions }, own, reader);
      continue;
    }
    if (program === undefined) {
      const [first, ...rest] = args; // an empty expansion: the next word is the command
      if (first !== undefined) run([first, ...rest], { redirections, substitutions }, own, reader);
    } else run([program, ...more, ...args], { redirections, substitutions }, own, reader);
  }
}

/** One command with its words; then what it runs in turn. */
function run(
  [program = "", ...args]: readonly string[],
  { redirections, substitutions }: Pick<ShellCommand, "redirections" | "substitutions">,
  scope: Scope,
  reader: Reader,
): void {
  const name = program.includes("/") ? program.slice(program.lastIndexOf("/") + 1) : program;
  const command = emit(
    { name: name.replace(/\.exe$/i, ""), args, redirections, substitutions },
    scope,
    reader,
  );
  if (scope.depth > DEPTH_MAX) throw new Unreadable(`is nested deeper than ${DEPTH_MAX} levels`);
  const deeper = { ...scope, depth: scope.depth + 1 };
  const defined = reader.functions.get(program);
  if (defined !== undefined && !scope.inside.includes(program)) {
    defined.isCalled = true;
    const inside = [...scope.inside, program];
    readNode(defined.body, { ...deeper, parameters: [program, ...args], inside }, reader);
  }
  if (name === "cd" || name === "pushd") changeDirectory(args, reader);
  if (name === "set" && args.some((arg) => /^-[a-z]*e/.test(arg))) reader.endsOnFailure = true;
  assignByBuiltin(name, args, textOf(command.input), reader);
  for (const inner of unwrap(command)) {
    const via = [...scope.via, inner.via];
    if ("script" in inner) {
      if (isWhollyOpen(inner.script)) continue; // its own rule judges it
      readText(toScript(inner.script), { ...deeper, via, parameters: inner.parameters }, reader);
    } else {
      const before = reader.directories;
      if (inner.directory !== undefined) changeDirectory([inner.directory], reader);
      const words = withPiped(inner.words, inner.via, command);
      run(words, { redirections: [], substitutions: [] }, { ...deeper, via }, reader);
      reader.directories = before;
    }
  }
  for (const text of scriptsOf(command))
    readText(toScript(text), { ...deeper, via: [...scope.via, name], input: NOTHING }, reader);
}

/** Texts that a shell reads from its input, or from `<(…)` in place of a file. */
function scriptsOf({ name, args, input, substitutions }: ShellCommand): string[] {
  if (readsShellInput({ name, args }) || name === "at" || name === "batch")
    return [textOf(input)].filter((text) => text !== undefined);
  const file = SHELLS.has(name)
    ? readShellArguments(args).operands[0]
    : name === "source" || name === "."
      ? args[0]
      : undefined;
  if (file !== OPEN) return [];
  return substitutions.map(printedBy).filter((text) => text !== undefined);
}

function textOf({ text, from }: CommandInput): string | undefined {
  return text ?? printedBy(from.at(-1));
}

/** What is printed into xargs stands where it will put it. */
function withPiped(words: readonly string[], via: string, { input }: ShellCommand): readonly string[] {
  const text = via === "xargs" ? textOf(input) : undefined;
  if (text === undefined || words.at(-1) !== OPEN) return words;
  return [...words.slice(0, -1), ...text.split(/\s+/).filter((word) => word !== "")];
}

function emit(
  command: Pick<ShellCommand, "name" | "args" | "redirections" | "substitutions">,
  { via, input }: Scope,
  reader: Reader,
): ShellCommand {
  const { found, directories } = reader;
  if (found.length >= COMMANDS_MAX) throw new Unreadable(`holds more than ${COMMANDS_MAX} commands`);
  reader.words += command.args.length;
  if (reader.words > WORDS_MAX) throw new Unreadable(`may be read as more than ${WORDS_MAX} words`);
  const whole = { ...command, input, directories, via };
  found.push(whole);
  return whole;
}

function readRedirects(
  nodes: readonly RedirectionNode[],
  scope: Scope,
  reader: Reader,
): { redirections: Redirection[]; input: CommandInput | undefined } {
  const names = namesOf(scope, reader);
  const redirections: Redirection[] = [];
  let input: CommandInput | undefined;
  for (const node of nodes) {
    if (node.type === "HereDoc") input = { from: [], text: node.body.text };
    else if (node.target === undefined) continue;
    else if (node.type === "HereString") input = { from: [], text: readings(node.target, names).join("\n") };
    else redirections.push({ operator: node.operator, targets: expandWord(node.target, names) });
  }
  return { redirections, input };
}

/** Commands inside a word, wherever in it they stand. */
function readSubstitutions(node: SyntaxNode, scope: Scope, reader: Reader): void {
  if (
    node.type === "CommandExpansion" ||
    node.type === "ProcessSubstitution" ||
    node.type === "ArithmeticCommandExpansion"
  ) {
    const { script } = node;
    if (script === undefined) throw new Unreadable(`holds ${node.type} that cannot be parsed`);
    const [problem] = script.errors ?? [];
    if (problem !== undefined) throw new Unreadable(`cannot be parsed: ${problem.message} inside $(…)`);
    const before = reader.directories;
    readStatements(script.commands, { ...scope, depth: scope.depth + 1, input: NOTHING }, reader);
    reader.directories = before;
    return;
  }
  if (scope.depth > DEPTH_MAX) throw new Unreadable(`is nested deeper than ${DEPTH_MAX} levels`);
  forEachChild(node, (child) => readSubstitutions(child, scope, reader));
}
