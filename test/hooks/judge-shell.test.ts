import { describe, expect, it, test } from "vitest";
import { judgeShell } from "../../src/hooks/shell/judge-shell.ts";
import { DESTRUCTIVE, FULL_FILES, HARMLESS, PLACE } from "./shell-corpus.ts";

const facts = { ...PLACE, holdsText: (path: string) => FULL_FILES.includes(path.replaceAll("/./", "/")) };
const problemOf = (text: string) => judgeShell(text, facts).problem;

test("the corpus holds at least 150 lines of each kind, none twice", () => {
  for (const lines of [HARMLESS, DESTRUCTIVE]) {
    expect(lines.length).toBeGreaterThanOrEqual(150);
    expect(new Set(lines).size).toBe(lines.length);
  }
});

describe("is let through", () => {
  it.each(HARMLESS)("%j", (line) => expect(problemOf(line)).toBeUndefined());
});

describe("is denied", () => {
  it.each(DESTRUCTIVE)("%j", (line) => expect(problemOf(line)).toBeTypeOf("string"));
});
