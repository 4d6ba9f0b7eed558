import { expect, test } from "vitest";
import { materialise } from "../../../src/render/claude/arguments.ts";
import { makeContext, makePlan } from "../support.ts";

const argv = (options: Parameters<typeof makeContext>[0]) =>
  materialise(makePlan("claude"), makeContext(options)).argv;

test("no tools at all is said so, and is not every tool (C-39)", () => {
  expect(argv({ tools: [] })).toContain("--tools=");
  expect(argv({}).some((arg) => arg.startsWith("--tools"))).toBe(false);
});

test("every flag with a value is one word, so that no value can be read as a flag", () => {
  const words = argv({
    model: "--bare",
    tools: ["--bare"],
    allowedTools: ["-p"],
    addDirs: ["/--settings"],
    extraArgs: ["--effort=low"],
  });
  expect(words.filter((word) => !/^--[a-zA-Z-]+(=.*)?$/.test(word))).toEqual([]);
});
