import { expect, it } from "vitest";
import { onlyNarrows } from "../../src/spawn/codex-rules.ts";

it.each([
  ['prefix_rule(pattern = ["touch"], decision = "forbidden", justification = "no")'],
  [
    "# a note with allow\nprefix_rule(pattern=['rm'], decision='prompt')\nprefix_rule(pattern=['dd'], decision='forbidden')",
  ],
])("a file that only forbids or asks is kept: %s", (text) => {
  expect(onlyNarrows(text)).toBe(true);
});

it.each([
  ["an explicit allow", 'prefix_rule(pattern = ["touch"], decision = "allow")'],
  ["a rule without a decision, which allows", 'prefix_rule(pattern = ["touch"])'],
  [
    "one allow among others",
    'prefix_rule(pattern=["a"], decision="forbidden")\nprefix_rule(pattern=["b"], decision="allow")',
  ],
  ["a decision in a comment only", '# decision = "forbidden"\nprefix_rule(pattern = ["touch"])'],
  ["a call of another kind", 'host_executable(name="git", paths=["/usr/bin/git"])'],
  ["a program", 'def f():\n  return prefix_rule(pattern=["a"], decision="forbidden")'],
  ["a decision that is computed", 'd = "forbidden"\nprefix_rule(pattern=["a"], decision=d)'],
  ["nothing", ""],
])("%s is not kept", (_what, text) => {
  expect(onlyNarrows(text)).toBe(false);
});
