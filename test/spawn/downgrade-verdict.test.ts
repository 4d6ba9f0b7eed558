// A rewrite that the CLI does not apply must not let the original run.

import { expect, test } from "vitest";
import { downgradeVerdict } from "../../src/spawn/downgrade-verdict.ts";

const rewrite = { decision: "rewrite", updatedInput: { command: "ls" }, grants: false } as const;
const downgrades = [{ name: "rewrite-to-deny", because: ["rewrite-shell"] }] as const;

test("a rewrite becomes a denial that names the wanted input", () => {
  expect(downgradeVerdict(rewrite, downgrades)).toEqual({
    decision: "deny",
    reason: expect.stringContaining('{"command":"ls"}'),
  });
});

test.each([{ decision: "none" }, { decision: "allow" }, { decision: "deny", reason: "no" }] as const)(
  "%o stays what it is",
  (verdict) => {
    expect(downgradeVerdict(verdict, downgrades)).toBe(verdict);
  },
);

test("without the downgrade a rewrite stays a rewrite", () => {
  expect(downgradeVerdict(rewrite, [])).toBe(rewrite);
  expect(downgradeVerdict(rewrite, [{ name: "subagents-off", because: [] }])).toBe(rewrite);
});
