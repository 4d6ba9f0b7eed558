// Partial-object matching on the envelope, beside the matcher (docs/PROFILE.md, "Where"). Pure. Must never answer for a `where` that it does
// not understand: a guard that is silently never asked is what must not be.

import { isJsonObject, type Json, type JsonObject } from "../json.ts";

/**
 * What an envelope must hold: a value stands for itself, an object for a part of an object, and one with operators for a test:
 * `$eq`, `$in`, `$exists`, `$contains`. All of them must hold.
 */
export type Where = { readonly [field: string]: Json };

/** Deepest nesting of a `where`, itself counted. */
export const WHERE_MAX_DEPTH = 32;

const OPERATORS: readonly string[] = ["$eq", "$in", "$exists", "$contains"];

/**
 * True when the envelope holds what `where` says.
 *
 * @throws Error naming the path, when `where` has a problem (`whereProblem`), even where the envelope would not have reached it
 */
export function holds(where: Where, envelope: JsonObject): boolean {
  const problem = whereProblem(where);
  if (problem !== undefined) throw new Error(`where ${problem}`);
  return holdsPart(where, envelope);
}

/** Own fields alone: nothing that is inherited stands in an envelope. */
function holdsPart(part: Where, value: Json | undefined): boolean {
  return (
    isJsonObject(value) &&
    Object.entries(part).every(([field, wanted]) =>
      holdsField(wanted, Object.hasOwn(value, field) ? value[field] : undefined),
    )
  );
}

/** `undefined`: the field is missing. */
function holdsField(wanted: Json, value: Json | undefined): boolean {
  if (!isJsonObject(wanted)) return isEqual(wanted, value);
  if (!isTest(wanted)) return holdsPart(wanted, value);
  return Object.entries(wanted).every(([operator, operand]) => holdsTest(operator, operand, value));
}

function holdsTest(operator: string, operand: Json, value: Json | undefined): boolean {
  switch (operator) {
    case "$exists":
      return (value !== undefined) === operand;
    case "$eq":
      return isEqual(operand, value);
    case "$in":
      return Array.isArray(operand) && operand.some((one) => isEqual(one, value));
    case "$contains":
      if (typeof value === "string") return typeof operand === "string" && value.includes(operand);
      return Array.isArray(value) && value.some((one) => isEqual(operand, one));
    default:
      throw new Error(`where has an unknown operator ${operator}`);
  }
}

function isEqual(wanted: Json, value: Json | undefined): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(value) &&
      value.length === wanted.length &&
      wanted.every((one, index) => isEqual(one, value[index]))
    );
  if (!isJsonObject(wanted)) return wanted === value;
  const fields = Object.keys(wanted);
  return (
    isJsonObject(value) &&
    Object.keys(value).length === fields.length &&
    fields.every((field) => Object.hasOwn(value, field) && isEqual(wanted[field] as Json, value[field]))
  );
}

function isTest(wanted: JsonObject): boolean {
  return Object.keys(wanted).some(isOperatorLike);
}

function isOperatorLike(key: string): boolean {
  return key.startsWith("$");
}

/** `tool_input.command.$in: expected a list, …`: the path and what is wrong there; undefined when it can be used. Throws nothing. */
export function whereProblem(where: unknown): string | undefined {
  if (!isPlainObject(where)) return `: expected an object of fields, got ${nameOf(where)}`;
  const first = Object.keys(where).find(isOperatorLike);
  if (first !== undefined) return `${first}: an operator tests a field; name the field first`;
  return partProblem(where, "", 1);
}

function partProblem(part: object, at: string, depth: number): string | undefined {
  const fields = Object.entries(part);
  if (fields.length === 0)
    return `${at}: is empty, so it says nothing; write { $exists: true } or leave it out`;
  return firstOf(fields, ([field, wanted]) => fieldProblem(wanted, join(at, field), depth + 1));
}

function fieldProblem(wanted: unknown, at: string, depth: number): string | undefined {
  if (!isPlainObject(wanted)) return valueProblem(wanted, at, depth) ?? listProblem(wanted, at);
  if (depth > WHERE_MAX_DEPTH) return tooDeep(at);
  const keys = Object.keys(wanted);
  if (!keys.some(isOperatorLike)) return partProblem(wanted, at, depth);
  const plain = keys.find((key) => !isOperatorLike(key));
  if (plain !== undefined)
    return `${join(at, plain)}: stands beside an operator; a field is a part or a test, not both`;
  return firstOf(Object.entries(wanted), ([operator, operand]) =>
    testProblem(operator, operand, join(at, operator), depth + 1),
  );
}

function testProblem(operator: string, operand: unknown, at: string, depth: number): string | undefined {
  if (!OPERATORS.includes(operator)) return `${at}: is no operator; known: ${OPERATORS.join(", ")}`;
  if (operator === "$exists" && typeof operand !== "boolean")
    return `${at}: expected true or false, got ${nameOf(operand)}`;
  if (operator === "$in" && !Array.isArray(operand)) return `${at}: expected a list, got ${nameOf(operand)}`;
  if (operator === "$in" && (operand as readonly unknown[]).length === 0)
    return `${at}: the list is empty, so it never holds`;
  return valueProblem(operand, at, depth);
}

/** A list stands for itself: an operator in it would be taken for a field that no envelope has. */
function listProblem(value: unknown, at: string): string | undefined {
  if (Array.isArray(value))
    return firstOf(value.entries(), ([index, one]) => listProblem(one, `${at}[${index}]`));
  if (!isPlainObject(value)) return undefined;
  return firstOf(Object.entries(value), ([key, inner]) =>
    isOperatorLike(key)
      ? `${join(at, key)}: an operator in a list is none; use $contains, or $eq for the list as it stands`
      : listProblem(inner, join(at, key)),
  );
}

/** Why a value is not JSON, or too deep: a cycle is the latter. */
function valueProblem(value: unknown, at: string, depth: number): string | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${at}: ${value} is not JSON`;
  if (Array.isArray(value)) {
    if (depth > WHERE_MAX_DEPTH) return tooDeep(at);
    // Array.from: a hole in a list is a value that is not there, and entries() alone would not tell it from undefined.
    return firstOf(Array.from(value).entries(), ([index, one]) =>
      valueProblem(one, `${at}[${index}]`, depth + 1),
    );
  }
  if (!isPlainObject(value)) return `${at}: ${nameOf(value)} is not JSON`;
  if (depth > WHERE_MAX_DEPTH) return tooDeep(at);
  return firstOf(Object.entries(value), ([key, one]) => valueProblem(one, join(at, key), depth + 1));
}

/** What JSON.parse or YAML gives: fields of its own that can all be seen, and nothing behind them. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isJsonObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === null || prototype === Object.prototype) &&
    Reflect.ownKeys(value).length === Object.keys(value).length
  );
}

function tooDeep(at: string): string {
  return `${at}: is nested deeper than ${WHERE_MAX_DEPTH}`;
}

function join(at: string, key: string): string {
  return at === "" ? key : `${at}.${key}`;
}

function nameOf(value: unknown): string {
  if (value === null || ["string", "number", "boolean"].includes(typeof value))
    return String(JSON.stringify(value)).slice(0, 120);
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return typeof value;
  return isJsonObject(value) && Object.getPrototypeOf(value) === Object.prototype
    ? "an object"
    : "an object that is not a plain one";
}

function firstOf<Item>(
  items: Iterable<Item>,
  problemOf: (item: Item) => string | undefined,
): string | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
