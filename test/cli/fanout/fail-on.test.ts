import { expect, it } from "vitest";
import { isFailed, parseFailOn } from "../../../src/cli/fanout/fail-on.ts";
import type { TaskOutcome } from "../../../src/fanout/index.ts";

const ok = Array<TaskOutcome>(9).fill("success");

it.each<[string, TaskOutcome[], boolean]>([
  ["any", ok, false],
  ["any", [...ok, "skipped"], true],
  ["any", [...ok, "failed"], true],
  ["refused", [...ok, "failed", "timed_out"], false],
  ["refused", [...ok, "refused"], true],
  ["refused", [...ok, "unenforced"], true],
  ["10%", [...ok, "failed"], false],
  ["9.9%", [...ok, "failed"], true],
  ["0%", ok, false],
  ["0%", [...ok, "lost"], true],
  ["100%", ["failed"], false],
])("--fail-on %s: %j", (policy, outcomes, expected) => {
  expect(isFailed(outcomes, parseFailOn(policy))).toBe(expected);
});

it.each(["all", "101%", "-1%", "10", ""])("%j is no policy", (policy) => {
  expect(() => parseFailOn(policy)).toThrow();
});
