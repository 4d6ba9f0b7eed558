import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeForTerminal, toOneLine } from "../../src/redaction/terminal.ts";

test.each([
  ["\u001b[2J", "\\u001b[2J"],
  ["\u009b31m", "\\u009b31m"],
  ["a\rb", "a\\u000db"],
  ["\u202egnp.exe", "\\u202egnp.exe"],
  ["\u0007", "\\u0007"],
  ["\u007f", "\\u007f"],
  ["\ud800x", "\\ud800x"],
  ["x\udc00", "x\\udc00"],
  ["\ufeffa", "\\ufeffa"],
])("%j is shown as %s", (text, shown) => {
  expect(escapeForTerminal(text)).toBe(shown);
});

test.each(["a\tb\nc", "ünïcödé 漢字 🙂", "plain"])("%j is shown as it is", (text) => {
  expect(escapeForTerminal(text)).toBe(text);
});

test("nothing a terminal would act on is left, whatever comes in", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const isUnsafe = (character: string) =>
        /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(character) && !"\n\t".includes(character);
      expect([...escapeForTerminal(text)].filter(isUnsafe)).toEqual([]);
    }),
  );
});

test("one line stays one line", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(toOneLine(`${text}\n\t\r`)).not.toMatch(/[\n\r\t]/);
    }),
  );
});
