// Splits a shell command into words with their quoting, or says why it is more than words. The parser is a library; every character is
// then accounted for again, so that what the library and a shell might read differently is refused, not guessed. Runs nothing.

import { type Command, type DoubleQuotedPart, parse, type Statement, type Word, type WordPart } from "unbash";

export type Quoting = "none" | "single" | "double";

export type Segment =
  | { readonly kind: "text"; readonly value: string; readonly quoting: Quoting }
  /** `$NAME` or `${NAME}`, nothing more. */
  | {
      readonly kind: "variable";
      readonly name: string;
      readonly isBraced: boolean;
      readonly quoting: "none" | "double";
    }
  /** `$(…)`: `text` is all of it. */
  | { readonly kind: "substitution"; readonly text: string; readonly quoting: "none" | "double" };

export interface SplitWord {
  /** Neighbouring segments of one quoting are one segment; an empty word has one empty text. */
  readonly segments: readonly Segment[];
}

export type Split = { readonly words: readonly SplitWord[] } | { readonly reason: string };

/** Longest command that is looked at, in UTF-16 units. */
export const COMMAND_MAX_LENGTH = 65_536;

/** Says why a text is refused. Never leaves this module. */
class NotWords extends Error {}

export function splitWords(command: string): Split {
  try {
    return { words: split(command) };
  } catch (error) {
    if (error instanceof NotWords) return { reason: error.message };
    throw error;
  }
}

function split(command: string): SplitWord[] {
  refuseOddCharacters(command);
  const statement = parseOne(command);
  const words = wordsOf(statement, command);
  refuseGaps(words, command);
  const name = words[0]?.text ?? "";
  if (BUILTINS.has(name)) throw new NotWords(`${name} is a shell builtin: there is no such program`);
  return words.map((word) => ({ segments: readWord(word, command) }));
}

function refuseOddCharacters(command: string): void {
  if (command.length > COMMAND_MAX_LENGTH)
    throw new NotWords(`${command.length} characters; at most ${COMMAND_MAX_LENGTH} are read`);
  if (/[\r\n]/.test(command.trim())) throw new NotWords("several lines: a program for a shell");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const control = /[\0-\x08\x0a-\x1f\x7f]/.exec(command);
  if (control !== null)
    throw new NotWords(
      `holds the control character U+${control[0].charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  if (/\p{Surrogate}/u.test(command)) throw new NotWords("holds half of a surrogate pair");
}

function parseOne(command: string): Statement {
  let script: ReturnType<typeof parse>;
  try {
    script = parse(command);
  } catch (error) {
    throw new NotWords(`cannot be read as a command: ${(error as Error).message}`);
  }
  const [statement] = script.commands;
  // Shapes come before errors: "an or-list" says more than what is wrong in its second half.
  if (statement !== undefined && statement.command.type !== "Command") refuseShape(statement, command);
  const [problem] = script.errors ?? [];
  if (problem !== undefined) throw new NotWords(`cannot be read as a command: ${problem.message}`);
  if (statement === undefined) throw new NotWords("there is no command");
  if (script.commands.length > 1) throw new NotWords("several commands, divided by ; or &");
  if (statement.background === true) throw new NotWords("& starts it in the background of a shell");
  return statement;
}

function refuseShape({ command }: Statement, text: string): never {
  if (command.type === "AndOr") {
    const isOr = text.includes("||");
    throw new NotWords(
      isOr
        ? "|| needs a shell; to say that this hook may fail, strip it and declare the hook non-gating: on_failure: open"
        : "&& needs a shell",
    );
  }
  if (command.type === "Pipeline")
    throw new NotWords(text.includes("|") ? "a pipe needs a shell" : "! and time are words of a shell");
  throw new NotWords(`${command.type} is a construct of a shell`);
}

function wordsOf(
  { command, redirects }: Statement & { redirects?: readonly unknown[] },
  text: string,
): Word[] {
  const { name, prefix, suffix } = command as Command;
  if (prefix.length > 0)
    throw new NotWords(
      prefix.some(({ type }) => type === "Assignment")
        ? "begins with a variable assignment"
        : "a redirect needs a shell",
    );
  if (name === undefined) throw new NotWords("there is no command");
  const rest = suffix.filter((word) => word.type === "Word");
  if (rest.length < suffix.length || (redirects?.length ?? 0) > 0 || /^[<>]/.test(text))
    throw new NotWords("a redirect needs a shell");
  return [name, ...rest];
}

/** Between words there may be blanks and nothing else. */
function refuseGaps(words: readonly Word[], command: string): void {
  let at = 0;
  for (const { pos, end } of [...words, { pos: command.length, end: command.length }]) {
    const gap = command.slice(at, pos);
    if (!/^[ \t]*$/.test(gap)) {
      const first = gap.trimStart()[0] ?? "";
      if (first === "#") throw new NotWords("a comment");
      throw new NotWords(
        /[<>]/.test(gap) ? "a redirect needs a shell" : `${JSON.stringify(gap.trim())} needs a shell`,
      );
    }
    at = end;
  }
}

function readWord(word: Word, command: string): Segment[] {
  const whole: WordPart = {
    type: "Literal",
    pos: word.pos,
    end: word.end,
    value: word.value,
    text: word.text,
  };
  let parts: readonly WordPart[];
  try {
    parts = word.parts ?? [whole];
  } catch (error) {
    throw new NotWords(`cannot be read as a command: ${(error as Error).message}`);
  }
  const segments = parts.map((part) => readPart(part));
  if (segments.flat().length === 0) return [{ kind: "text", value: "", quoting: "double" }];
  refuseUncovered(parts, word, command);
  return segments.flat();
}

/** The parts must be the word, character for character. */
function refuseUncovered(parts: readonly WordPart[], { pos, end }: Word, command: string): void {
  let at = pos;
  for (const part of parts) {
    if (part.pos !== at || part.text !== command.slice(part.pos, part.end))
      throw new NotWords("a word that cannot be read with certainty");
    at = part.end;
  }
  if (at !== end) throw new NotWords("a word that cannot be read with certainty");
}

function readPart(part: WordPart): Segment[] {
  switch (part.type) {
    case "Literal":
      return [readBare(part.text, part.value)];
    case "SingleQuoted":
      if (part.text !== `'${part.value}'` || part.value.includes("'"))
        throw new NotWords("a quote that cannot be read with certainty");
      return [{ kind: "text", value: part.value, quoting: "single" }];
    case "DoubleQuoted":
      return readDoubleQuoted(part);
    case "Glob":
    case "ExtendedGlob":
      throw new NotWords(`${part.text} is a file pattern that a shell expands`);
    case "BraceExpansion":
      throw new NotWords(`${part.text} is expanded by some shells`);
    case "AnsiCQuoted":
    case "LocaleString":
      throw new NotWords(`${part.text} means different things to different shells`);
    default:
      return [readExpansion(part, "none")];
  }
}

function readBare(text: string, value: string): Segment {
  if (text.includes("\\"))
    throw new NotWords(`backslash (Windows path?) in ${JSON.stringify(text)}: a shell would eat it`);
  const special = /[|&;<>()$`"'*?[#]/.exec(text.replaceAll(/(?<=.)#/g, ""));
  if (special !== null) throw new NotWords(`unquoted ${special[0]} means something to a shell`);
  if (text !== value) throw new NotWords("a word that cannot be read with certainty");
  return { kind: "text", value, quoting: "none" };
}

function readDoubleQuoted({ parts, text }: DoubleQuotedPart): Segment[] {
  if (text.includes("\\"))
    throw new NotWords(`backslash (Windows path?) inside double quotes: ${JSON.stringify(text)}`);
  if (!text.startsWith('"') || `"${parts.map((part) => part.text).join("")}"` !== text)
    throw new NotWords("a quote that cannot be read with certainty");
  if (parts.length === 0) return [{ kind: "text", value: "", quoting: "double" }];
  return parts.map((part): Segment => {
    if (part.type !== "Literal") return readExpansion(part, "double");
    const special = /[$`"]/.exec(part.text);
    if (special !== null) throw new NotWords(`${special[0]} inside double quotes`);
    if (part.text !== part.value) throw new NotWords("a quote that cannot be read with certainty");
    return { kind: "text", value: part.value, quoting: "double" };
  });
}

function readExpansion(part: WordPart, quoting: "none" | "double"): Segment {
  const { text } = part;
  const where = quoting === "double" ? "$ inside double quotes: " : "";
  if (part.type === "CommandExpansion") return { kind: "substitution", text, quoting };
  if (part.type === "SimpleExpansion" || part.type === "ParameterExpansion") {
    const name = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/.exec(text);
    if (name === null) throw new NotWords(`${where}${text} needs a shell`);
    return {
      kind: "variable",
      name: (name[1] ?? name[2]) as string,
      isBraced: name[1] === undefined,
      quoting,
    };
  }
  throw new NotWords(`${where}${text} needs a shell`);
}

/** Words that only a shell knows. `echo`, `printf`, `test`, `true` and others are programs too. */
const BUILTINS: ReadonlySet<string> = new Set(
  (
    ". : alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown enable eval exec exit " +
    "export fc fg getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly return set shift shopt " +
    "source suspend times trap type typeset ulimit umask unalias unset wait"
  ).split(" "),
);
