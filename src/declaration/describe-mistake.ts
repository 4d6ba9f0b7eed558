// The schema's findings about one entry, in words for whoever wrote it. Must never quote a value: who calls it knows which of them are secret.

import type { z } from "zod";

/** What to write where a required field is not. */
const HINTS: Readonly<Record<string, string>> = {
  command: 'argv as a list, for example ["node", "guard.js"]',
  url: "for example https://guard.example/check",
  handler: "a function",
  input: "laid over a whole envelope, for example { tool_input: { command: ls } }",
  expect: "deny, allow, rewrite or context",
};

/** `url is missing`, `selftest[0].expect is missing`; undefined for the entry itself. */
export function describeMissing(path: readonly PropertyKey[]): { message: string; hint: string } | undefined {
  const last = path.at(-1);
  if (last === undefined) return undefined;
  return { message: `${placeOf(path, "").replace(/^\./, "")} is missing`, hint: HINTS[String(last)] ?? "" };
}

/** What was expected; the value seen is told behind it. */
export function describeMistake(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
  // The message of its own says what was received as well, in another word for the same.
  if (issue.code === "invalid_type") return `expected ${EXPECTED[issue.expected] ?? issue.expected}`;
  return issue.message;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** `at.selftest[0].expect` */
export function placeOf(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>(
    (place, key) => (typeof key === "number" ? `${place}[${key}]` : `${place}.${String(key)}`),
    at,
  );
}
