// What `bridle prove` says: readable by somebody who has never heard of hooks, and never more than was seen.

import { expect, test } from "vitest";
import { createProgressBar } from "../../src/cli/progress-bar.ts";
import { describeProof } from "../../src/cli/prove.ts";
import { makeCase, makeProof } from "../prove/support.ts";

const textOf = (...parts: Parameters<typeof makeProof>) =>
  describeProof(makeProof(...parts), "/state/proof.json").join("\n");

test("a proof that holds says so, with every case, its rules and what was seen", () => {
  const text = textOf([makeCase("deny-shell"), makeCase("deny-shell", { column: "codex-code-mode" })]);
  expect(text).toContain("Does codex 0.171.0 (linux-x64) run your guards and obey them?");
  expect(text).toMatch(/^yes {6}A denial stops a call\n {9}deny-shell \| Dv1-5 \| no happened$/m);
  expect(text).toContain("deny-shell (code-mode)");
  expect(text).toContain("2 of 2 required answers are yes.");
  expect(text).toContain("Proven: this binary can be given blocking guards.");
  expect(text).toContain("Record: /state/proof.json");
});

test.each([
  ["fails", "NO"],
  ["refused", "REFUSED"],
] as const)("a required case that %s is shown as %s, and the binary is not proven", (verdict, mark) => {
  const text = textOf([
    makeCase("deny-shell", { verdict, observed: "file happened: it was there" }),
    makeCase("other"),
  ]);
  expect(text).toMatch(new RegExp(`^${mark} +A denial stops a call$`, "m"));
  expect(text).toContain("file happened: it was there");
  expect(text).toContain("1 of 2 required answers are yes");
  expect(text).toContain("Not proven: blocking guards are refused for this binary (deny-shell).");
  expect(text).not.toContain("Proven:");
});

test("a case that could not be tried decides nothing, and neither does a part of the cases", () => {
  const unclear = textOf([
    makeCase("deny-shell", { verdict: "unclear", observed: "could not be run: no room" }),
  ]);
  expect(unclear).toMatch(/^UNCLEAR +A denial stops a call$/m);
  expect(unclear).toContain("Not decided: deny-shell could not be tried.");
  const part = textOf([makeCase("deny-shell")], { set: "part" });
  expect(part).toContain("Only 1 case(s) were run: this proves nothing and is not kept.");
  for (const text of [unclear, part]) expect(text).not.toMatch(/Proven|Not proven/);
});

test("what is not core does not keep guards from the binary, and is told", () => {
  const text = textOf([makeCase("deny-shell"), makeCase("other", { verdict: "fails", core: false })], {
    set: "all",
  });
  expect(text).toContain("Proven for blocking guards; outside of that the binary does not hold other.");
});

test("a known gap is told with its reason and does not undo the proof", () => {
  const text = textOf([
    makeCase("deny-shell"),
    makeCase("gap", { verdict: "fails", required: false, because: "codex runs it" }),
  ]);
  expect(text).toMatch(/^no {7}A denial/m);
  expect(text).toContain("known: codex runs it");
  expect(text).toContain('1 of 1 required answers are yes; 1 known gap(s), marked "no", are not required.');
  expect(text).toContain("Proven:");
});

test("the network is told", () => {
  expect(textOf([makeCase("a")])).toContain("in a network namespace without a way out");
  expect(textOf([makeCase("a")], { network: "env" })).toContain("with loopback addresses and dead proxies");
});

test("the bar is drawn on a terminal only, and never wider than it", () => {
  const written: string[] = [];
  const stream = (isTTY: boolean) => ({
    isTTY,
    columns: 40,
    write: (text: string) => written.push(text) > 0,
  });
  const silent = createProgressBar(stream(false) as never);
  silent.title("asking");
  silent.show(1, 2, "deny-shell");
  silent.clear();
  expect(written).toEqual([]);
  createProgressBar(stream(true) as never).show(1, 2, "a-case-with-a-very-long-name-indeed-yes");
  expect(written.join("").replace("\r\x1b[K", "").length).toBeLessThan(40);
});
