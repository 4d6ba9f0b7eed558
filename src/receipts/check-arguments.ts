// Checks of what is handed to a function of receipts: the wrong thing is refused with its name and value, never taken for another, and never
// a TypeError from the inside. Must not trust a caller's object to be read without an error.

import { AgentHooksRefused } from "../errors.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { toOneLine } from "../redaction/terminal.ts";

const SHOWN_MAX = 80;

/** A value for a message: redacted, on one line, cut, with its type. */
export function showValue(value: unknown): string {
  const type = Array.isArray(value) ? "list" : value === null ? "null" : typeof value;
  let text: string;
  try {
    text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  } catch {
    return `a value that cannot be shown (${type})`; // a cycle, a bigint, an object that throws
  }
  const shown = toOneLine(createRedactor().text(text));
  return `${shown.length > SHOWN_MAX ? `${shown.slice(0, SHOWN_MAX)}…` : shown} (${type})`;
}

/** `option_invalid` about an option, with the value seen. */
export function invalidOption(path: string, value: unknown, hint: string): AgentHooksRefused {
  return refuseOption(path, `${showValue(value)} cannot be used`, hint);
}

export function refuseOption(
  path: string,
  message: string,
  hint: string,
  cause?: unknown,
): AgentHooksRefused {
  return new AgentHooksRefused(
    [{ code: "option_invalid", path, message, hint }],
    cause === undefined ? {} : { cause },
  );
}

/**
 * A copy of an object of options whose fields are all known, read once.
 *
 * @param what names the object, for example `options`
 * @throws AgentHooksRefused `option_invalid`: no plain object, a name that is not known, a field that throws when it is read.
 */
export function readOptions<Name extends string>(
  value: unknown,
  { what, known }: { what: string; known: readonly Name[] },
): Readonly<Partial<Record<Name, unknown>>> {
  const hint = `an object of ${known.join(", ")}`;
  const copy = copyPlain(value, what, hint);
  for (const name of Object.keys(copy))
    if (!(known as readonly string[]).includes(name))
      throw refuseOption(name, `${JSON.stringify(name)} is not known in ${what}`, nameKnown(name, known));
  return copy as Readonly<Partial<Record<Name, unknown>>>;
}

/** A Map, a list or a Date has no fields of its own: it would be taken for "nothing given". */
function copyPlain(value: unknown, what: string, hint: string): object {
  let copy: object | undefined;
  try {
    if (isPlain(value)) copy = { ...value };
  } catch (cause) {
    throw refuseOption(what, "cannot be read: a field of it throws", hint, cause);
  }
  if (copy === undefined) throw invalidOption(what, value, hint);
  return copy;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameKnown(name: string, known: readonly string[]): string {
  const plain = (word: string) => word.toLowerCase().replaceAll(/[_-]/g, "");
  const near = known.find((one) => plain(one) === plain(name));
  return near === undefined ? `known: ${known.join(", ")}` : `did you mean ${near}?`;
}

/** @throws AgentHooksRefused `option_invalid`, when it is no path of a file. */
export function checkPath(value: unknown): string {
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
  throw invalidOption("path", value, "the path of a file, as a string");
}
