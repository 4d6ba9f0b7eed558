// What a word of a command becomes when a shell has expanded it, as far as that can be told without running anything. What cannot be told is
// marked, never guessed. Pure.

import type { ParsedScript, Word, WordPart } from "unbash";

/** Stands for text that only the run knows. Private-use characters: in a command of somebody's own they make it more open, never less. */
export const OPEN = "\ue000";
/** Stands for any file names: an unquoted `*`, `?`, `[…]`. */
export const GLOB = "\ue001";
/** A blank that an unquoted expansion brought, and at which the shell splits. */
export const SPLIT = "\ue002";

/** Behind `OPEN`: what stands there came from the net, a file or an input, so that it may be anything. */
export const FOREIGN = "\ue003";

/** Most readings of one word that are followed; beyond, it counts as open. */
const READINGS_MAX = 64;

export interface Names {
  /** Every value a variable may have by now, each as fields that are not split yet; undefined when none is known. */
  variable(name: string): readonly string[] | undefined;
  /** `$0`, `$1`, …; undefined when the arguments are not known. */
  readonly parameters: readonly string[] | undefined;
  readonly home: string;
  /** Values of `IFS`: what an unquoted expansion is split at, beside blanks. */
  readonly separators: readonly string[];
  /** What `$(…)` prints, when that can be told. */
  output(script: ParsedScript | undefined): string | undefined;
}

/** The fields of a word: none for an unset variable, several for braces, lists and variables with several possible values. */
export function expandWord(word: Word, names: Names): string[] {
  return readings(word, names).flatMap(splitFields);
}

/** Each way a word may read, not split: for a word whose readings must be followed one by one. */
export function readings(word: Word, names: Names): string[] {
  const { parts } = word;
  const isTilde = word.text.startsWith("~");
  if (parts === undefined) return [isTilde ? expandTilde(word.value, names.home) : word.value];
  let all = [""];
  for (const [index, part] of parts.entries()) {
    const next = readPart(part, names, false);
    const values = index === 0 && isTilde ? next.map((value) => expandTilde(value, names.home)) : next;
    all = all.flatMap((before) => values.map((value) => before + value));
    if (all.length > READINGS_MAX) return [OPEN];
  }
  return all;
}

export function splitFields(reading: string): string[] {
  if (!reading.includes(SPLIT)) return [reading];
  return reading.split(SPLIT).filter((field) => field !== "");
}

/** For people: what is open is `…`. */
export function showField(field: string): string {
  return field.replaceAll(OPEN, "…").replaceAll(FOREIGN, "").replaceAll(GLOB, "*").replaceAll(SPLIT, " ");
}

export const isOpen = (field: string): boolean => field.includes(OPEN);

/** Nothing of it is known. */
export const isWhollyOpen = (field: string): boolean =>
  isOpen(field) && field.replaceAll(/[\ue000\ue003\s]/g, "") === "";

/** As text for a parser: what is open stays open, as a variable that nobody sets. */
export function toScript(field: string): string {
  return field
    .replaceAll(OPEN, `\${${UNSET}}`)
    .replaceAll(FOREIGN, "")
    .replaceAll(GLOB, "*")
    .replaceAll(SPLIT, " ");
}

/** A variable that no reading of a text may give a value. */
export const UNSET = "__open";

function expandTilde(value: string, home: string): string {
  // ~user and ~+ are homes and directories too: the own home stands for all of them.
  return value.startsWith("~") ? home + value.replace(/^~[^/]*/, "") : value;
}

function readPart(part: WordPart, names: Names, isQuoted: boolean): string[] {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [part.value];
    case "DoubleQuoted":
    case "LocaleString":
      return joinParts(part.parts, names);
    case "Glob":
    case "ExtendedGlob":
      return [GLOB];
    case "BraceExpansion":
      return readBraces(part.text);
    case "SimpleExpansion":
      return split(readParameter(part.text.slice(1), names), isQuoted, names);
    case "ParameterExpansion": {
      if (part.prefix !== undefined) return [OPEN];
      const { operation } = part;
      const known = readParameter(part.parameter, names);
      const isList = part.index !== undefined && /^[@*]$/.test(part.index.value);
      if (operation === undefined) return isList ? known : split(known.map(joined), isQuoted, names);
      if (operation.type !== "Default") return [OPEN];
      const operand = readings(operation.operand, names);
      if (operation.operator.endsWith("?")) return split(known, isQuoted, names);
      if (operation.operator.endsWith("+")) return ["", ...operand];
      return split([...known.filter((value) => value !== OPEN), ...operand], isQuoted, names);
    }
    case "CommandExpansion": {
      const output = names.output(part.script);
      return output === undefined ? [OPEN] : split([output], isQuoted, names);
    }
    default:
      return [OPEN];
  }
}

/** One text of a list. */
function joined(value: string): string {
  return value.replaceAll(SPLIT, " ");
}

function joinParts(parts: readonly WordPart[], names: Names): string[] {
  let all = [""];
  for (const part of parts) {
    const next = readPart(part, names, true);
    all = all.flatMap((before) => next.map((value) => before + value));
    if (all.length > READINGS_MAX) return [OPEN];
  }
  return all;
}

function split(values: readonly string[], isQuoted: boolean, { separators }: Names): string[] {
  if (isQuoted) return [...values];
  const others = separators.join("").replaceAll(/[\s\\\]^-]/g, "\\$&");
  const blanks = new RegExp(`[ \\t\\n${others}]+`, "g");
  return values.map((value) => value.replaceAll(blanks, SPLIT).replaceAll("*", GLOB));
}

function readParameter(name: string, { variable, parameters }: Names): string[] {
  const isList = name === "@" || name === "*";
  if (isList || /^\d+$/.test(name)) {
    if (parameters !== undefined)
      return [isList ? parameters.slice(1).join(SPLIT) : (parameters[Number(name)] ?? "")];
    const set = variable("@") ?? []; // by `set --`, somewhere in the text
    return [...set.map((all) => (isList ? all : (all.split(SPLIT)[Number(name) - 1] ?? ""))), OPEN];
  }
  const values = variable(name);
  return values === undefined || values.length === 0 ? [OPEN] : [...values];
}

/** `{a,b}` without braces inside; a sequence or anything nested is open. */
function readBraces(text: string): string[] {
  const inner = /^\{([^{}]*)\}$/.exec(text)?.[1];
  if (inner === undefined) return [OPEN];
  if (!inner.includes(",")) return /^[^.]+\.\.[^.]+/.test(inner) ? ["1"] : [text];
  if (/["'\\$`]/.test(inner)) return [OPEN];
  return inner.split(",").map((value) => value.replaceAll(/[*?]/g, GLOB));
}
