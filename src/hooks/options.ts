// Checks of what is handed to a factory, at once and with the value seen. Throws `TypeError` alone.

import { RE2JS } from "re2js";
import { createRedactor } from "../redaction/redactor.ts";
import { toOneLine } from "../redaction/terminal.ts";

const VALUE_MAX = 80;

/** A value for a message: redacted, on one line, cut, with its type. */
export function describeValue(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = String(value); // a cycle, a bigint
  }
  const shown = toOneLine(createRedactor().text(text));
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  return `${shown.length > VALUE_MAX ? `${shown.slice(0, VALUE_MAX)}…` : shown} (${type})`;
}

/** `at`: `denyDestructiveShell: allow[0]`. */
export function optionError(at: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${at} must be ${expected}, got ${describeValue(value)}`);
}

/** The options object itself: undefined is an empty one, and a name that is not known is an error. */
export function checkOptions(hook: string, options: unknown, known: readonly string[]): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw optionError(`${hook}: options`, `an object of ${known.join(", ")}`, options);
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new TypeError(`${hook}: unknown option ${JSON.stringify(name)}; known: ${known.join(", ")}`);
}

/** None of them empty. `isEmptyFine`: there may be none. @default true */
export function checkStrings(at: string, value: unknown, { isEmptyFine = true } = {}): readonly string[] {
  if (!Array.isArray(value)) throw optionError(at, "an array of strings", value);
  for (const [index, one] of value.entries())
    if (typeof one !== "string" || one === "")
      throw optionError(`${at}[${index}]`, "a string that is not empty", one);
  if (value.length === 0 && !isEmptyFine) throw optionError(at, "an array with at least one string", value);
  return value as string[];
}

/** A whole number, `min` at least. */
export function checkCount(at: string, value: unknown, min: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min)
    throw optionError(at, `a whole number, ${min} or more`, value);
  return value;
}

export interface Pattern {
  readonly source: string;
  readonly compiled: RE2JS;
}

/** RE2 expressions: linear on any text. */
export function compilePatterns(at: string, value: unknown): readonly Pattern[] {
  if (value === undefined) return [];
  return checkStrings(at, value).map((source, index) => {
    try {
      return { source, compiled: RE2JS.compile(source) };
    } catch (error) {
      throw optionError(`${at}[${index}]`, `an RE2 expression (${(error as Error).message})`, source);
    }
  });
}
