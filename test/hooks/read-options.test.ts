import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { operandStarts, readOptions, valuesOf } from "../../src/hooks/shell/read-options.ts";

const TABLE = { flags: "ab", values: "vw", longFlags: "all verbose", longValues: "value width" };
const read = (line: string, isPermuted = false) =>
  readOptions(line === "" ? [] : line.split(" "), TABLE, { isPermuted });

describe("options are read as getopt does", () => {
  it.each([
    ["-a x", ["a"], ["x"]],
    ["-abv 1 x", ["a", "b", "v=1"], ["x"]],
    ["-abv1 x", ["a", "b", "v=1"], ["x"]],
    ["-va x", ["v=a"], ["x"]],
    ["--value 1 x", ["value=1"], ["x"]],
    ["--val 1 x", ["value=1"], ["x"]],
    ["--value=1 x", ["value=1"], ["x"]],
    ["--all x", ["all"], ["x"]],
    ["-- -a", [], ["-a"]],
    ["- -a", [], ["-", "-a"]],
    ["x -a", [], ["x", "-a"]],
    ["-v", ["v"], []],
    ["", [], []],
  ])("%s", (line, options, operands) => {
    const found = read(line);
    expect(found.options.map(({ name, value }) => (value === undefined ? name : `${name}=${value}`))).toEqual(
      options,
    );
    expect(found.operands).toEqual(operands);
  });

  it("also behind the other words where a program reads so, up to two dashes", () => {
    const { options, operands } = read("x -v 1 y -- -w 2", true);
    expect(valuesOf(options, "v", "w")).toEqual(["1"]);
    expect(operands).toEqual(["x", "y", "-w", "2"]);
  });
});

describe("where the first other word stands", () => {
  it.each([
    ["-a x y", [1]],
    ["-av 1 y", [2]],
    ["-5 x y", [1]],
    ["--unknown x y", [1, 2]],
    ["-q x y", [1, 2]],
    ["-qv x y", [2]],
    ["-qvx y z", [1, 2]],
    ["--unknown=1 y", [1]],
    ["-a -- -x", [2]],
    ["-a", []],
  ])("%s", (line, starts) => expect(operandStarts(line.split(" "), TABLE)).toEqual(starts));

  test("is one of the places told, whatever unknown options take", () => {
    const word = fc.constantFrom("-a", "-q", "-v", "--odd", "--value", "--all", "-vq", "x", "--", "-");
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (args) => {
        const { operands } = readOptions(args, TABLE);
        const starts = operandStarts(args, TABLE);
        return operands.length === 0 || starts.includes(args.length - operands.length);
      }),
    );
  });
});
