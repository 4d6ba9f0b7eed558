// The -c values as the fake reads them, held against another reader of TOML.

import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { readConfig } from "../../src/testkit/fake/codex/config.mjs";

test.each([
  '"text with \\"quotes\\", a \\\\ and \\u00e9"',
  "'as it \\stands'",
  '"""\nseveral\nlines"""',
  "true",
  "12",
  "1_000",
  "-0.5",
  "1e3",
  "[]",
  '["a", 1, [true]]',
  '{ a = 1, "b.c" = { d.e = ["x"] } }',
  "[{ matcher = 'Bash', hooks = [{ type = 'command', command = 'true', timeout = 5 }] }]",
  '1\nvalue2 = "more"',
])("%j is what it says", (text) => {
  expect(readConfig([`a.b=${text}`])).toEqual({ a: { b: plain(parse(`value = ${text}`).value) } });
});

test.each(["plain", "{ a = 1", "1\nvalue = 2", "", "[1, 2", "{ a = 1, a = 2 }"])(
  "%j is no TOML and stands for itself",
  (text) => {
    expect(() => parse(`value = ${text}`)).toThrow();
    expect(readConfig([`a=${text}`])).toEqual({ a: text });
  },
);

test("one without = is refused", () => {
  expect(() => readConfig(["a"])).toThrow("invalid override (missing '='): a");
});

/** Tables without a prototype are told apart from others by nobody. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
