import { describe, expect, it, test } from "vitest";
import { CsvInvalid, parseCsv } from "../../src/fanout/parse-csv.ts";

const cellsOf = (text: string) => parseCsv(text).map(({ cells }) => cells);

describe("CSV", () => {
  it.each([
    [
      "a,b\r\n1,2\r\n",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "a,b\n1,2",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    ['a\n"one, ""two""\nthree"\n', [["a"], ['one, "two"\nthree']]],
    [
      "a,b\n,\n",
      [
        ["a", "b"],
        ["", ""],
      ],
    ],
    ['"",x\n', [["", "x"]]],
    ["\uFEFFa\n1\n", [["a"], ["1"]]],
    ["a\n\n\n1\n", [["a"], ["1"]]],
    ["", []],
  ])("%j", (text, expected) => {
    expect(cellsOf(text)).toEqual(expected);
  });

  test("rows tell the line in which they begin", () => {
    expect(parseCsv('a\n"1\n2"\n3\n').map(({ line }) => line)).toEqual([1, 2, 4]);
  });

  it.each([
    ['a\n"open', 2, "not closed"],
    ['a\nb"c', 2, "does not begin with one"],
    ['a\n"b"c', 2, "behind a closing quote"],
    ["a\rb", 1, "carriage return"],
  ])("%j is none", (text, line, word) => {
    const failure = (() => {
      try {
        parseCsv(text);
      } catch (error) {
        return error as CsvInvalid;
      }
      return undefined;
    })();
    expect(failure).toBeInstanceOf(CsvInvalid);
    expect([failure?.line, failure?.message]).toEqual([line, expect.stringContaining(word)]);
  });
});
