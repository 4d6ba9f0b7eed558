// What a proof says, what it does not, and what an edited one is worth.

import { describe, expect, test } from "vitest";
import { compareProofs, parseProof } from "../../src/index.ts";
import { bytesDigest, isConclusive, isIntact, judgeProof, type ProvenCase } from "../../src/prove/proof.ts";
import { makeCase, makeProof } from "./support.ts";

describe("a proof", () => {
  test("holds what it was sealed with, however its keys are ordered", () => {
    const proof = makeProof([makeCase("deny-shell")]);
    expect(isIntact(proof)).toBe(true);
    const reordered = Object.fromEntries(Object.entries(proof).reverse());
    expect(parseProof(JSON.stringify(reordered))).toEqual(proof);
    expect(parseProof(JSON.stringify({ type: "proof", proof }))).toEqual(proof);
  });

  test.each([
    ["a verdict", (text: string) => text.replace('"verdict":"fails"', '"verdict":"holds"')],
    ["the binary", (text: string) => text.replace(/"sha256":"./, '"sha256":"f')],
    ["required", (text: string) => text.replace('"required":true', '"required":false')],
  ])("that was edited (%s) is none", (_what, edit) => {
    const text = JSON.stringify(makeProof([makeCase("deny-shell", { verdict: "fails" })]));
    expect(edit(text)).not.toBe(text);
    expect(parseProof(edit(text))).toMatch(/changed after it was written/);
  });

  test.each(["", "{", "[]", "{}", '{"format":2}', JSON.stringify({ ...makeProof([]), extra: 1 })])(
    "is not %j",
    (text) => {
      expect(typeof parseProof(text)).toBe("string");
    },
  );
});

describe("callbacks", () => {
  const onCallbacks = (id: string, part: Partial<ProvenCase> = {}) =>
    makeCase(id, { column: "claude-callbacks", ...part });
  const judged = (...cases: ProvenCase[]) =>
    judgeProof(makeProof(cases, { provider: "claude" }), ["PreToolUse", "Stop"]);

  test("hold for events that a core case shows, and for no other", () => {
    const { callbacks } = judged(
      onCallbacks("deny"),
      onCallbacks("fires", { event: "Stop" }),
      onCallbacks("not core", { event: "PostToolUse", core: false }),
      onCallbacks("any", { event: "any" }),
      onCallbacks("played there by the shim", { event: "UserPromptSubmit" }),
      makeCase("shim alone", { column: "claude", event: "SubagentStop" }),
    );
    expect(callbacks).toEqual(["PreToolUse", "Stop"]);
  });

  test.each(["fails", "refused", "unclear"] as const)(
    "do not hold for an event with a required core case that %s, and disprove nothing",
    (verdict) => {
      const found = judged(
        onCallbacks("deny"),
        onCallbacks("hangs", { verdict }),
        onCallbacks("fires", { event: "Stop" }),
      );
      expect(found).toMatchObject({ callbacks: ["Stop"], disproven: [], unclear: [] });
    },
  );

  test("hold for nothing when a case of any event does not", () => {
    expect(
      judged(onCallbacks("deny"), onCallbacks("any", { event: "any", verdict: "fails" })).callbacks,
    ).toEqual([]);
  });

  test("are not judged by what is not required or not core", () => {
    const { callbacks } = judged(
      onCallbacks("deny"),
      onCallbacks("a", { verdict: "fails", required: false }),
      onCallbacks("b", { verdict: "fails", core: false }),
    );
    expect(callbacks).toEqual(["PreToolUse"]);
  });
});

describe("judgement", () => {
  test("a required core case that does not hold disproves, whatever kept it from holding", () => {
    for (const verdict of ["fails", "refused"] as const) {
      const { disproven } = judgeProof(makeProof([makeCase("deny-shell", { verdict })]), ["PreToolUse"]);
      expect(disproven.map(({ id }) => id)).toEqual(["deny-shell"]);
    }
  });

  test("a required core case that stayed unclear speaks neither for nor against, and such a proof is not kept", () => {
    const proof = makeProof([makeCase("deny-shell", { verdict: "unclear" })]);
    const { disproven, unclear } = judgeProof(proof, ["PreToolUse"]);
    expect([disproven.length, unclear.map(({ id }) => id)]).toEqual([0, ["deny-shell"]]);
    expect(isConclusive(proof)).toBe(false);
    expect(isConclusive(makeProof([makeCase("deny-shell", { verdict: "fails" })]))).toBe(true);
    expect(isConclusive(makeProof([makeCase("other", { verdict: "unclear", core: false })]))).toBe(true);
  });

  test.each([
    ["is not required", { required: false }],
    ["is not core", { core: false }],
    ["is about an event nobody declared", { event: "UserPromptSubmit" }],
  ])("a case that %s decides nothing", (_what, part) => {
    const proof = makeProof([makeCase("some", { verdict: "fails", ...part })]);
    expect(judgeProof(proof, ["PreToolUse"])).toEqual({
      disproven: [],
      unclear: [],
      downgrades: [],
      callbacks: [],
    });
  });

  test("a case about any event matters to every declaration", () => {
    const proof = makeProof([makeCase("some", { verdict: "fails", event: "any" })]);
    expect(judgeProof(proof, ["PermissionRequest"]).disproven).toHaveLength(1);
  });

  const rewrite: Partial<ProvenCase> = {
    verdict: "fails",
    downgrade: { to: "rewrite-to-deny", proven_by: ["deny-shell"] },
  };

  test("a stricter form takes the place of what does not land", () => {
    const proof = makeProof([makeCase("rewrite", rewrite), makeCase("deny-shell")]);
    expect(judgeProof(proof, ["PreToolUse"])).toEqual({
      disproven: [],
      unclear: [],
      downgrades: [{ name: "rewrite-to-deny", because: ["rewrite"] }],
      callbacks: [],
    });
  });

  test.each([
    ["does not hold", [makeCase("deny-shell", { verdict: "fails", core: false })]],
    ["was not run", []],
    ["holds in another column only", [makeCase("deny-shell", { column: "codex-code-mode" })]],
  ])("a stricter form that %s is no help", (_what, others) => {
    const proof = makeProof([makeCase("rewrite", rewrite), ...others]);
    const { disproven, downgrades } = judgeProof(proof, ["PreToolUse"]);
    expect(disproven.map(({ id }) => id)).toContain("rewrite");
    expect(downgrades).toEqual([]);
  });
});

test("the bytes of a program beside the binary are part of what is proven", () => {
  const alone = { sha256: "a".repeat(64), companions: [] };
  const host = (sha256: string) => ({ ...alone, companions: [{ name: "host", sha256 }] });
  const digests = [alone, host("b".repeat(64)), host("c".repeat(64))].map(bytesDigest);
  expect(new Set(digests).size).toBe(3);
  expect(digests[0]).toBe(alone.sha256);
});

describe("comparison", () => {
  test("names what got worse, better, was added and removed", () => {
    const before = makeProof([
      makeCase("same"),
      makeCase("worse"),
      makeCase("better", { verdict: "fails" }),
      makeCase("other", { verdict: "fails" }),
      makeCase("gone"),
    ]);
    const after = makeProof([
      makeCase("same"),
      makeCase("worse", { verdict: "fails", observed: "file happened: wanted absent, got exists" }),
      makeCase("better"),
      makeCase("other", { verdict: "refused" }),
      makeCase("new"),
    ]);
    const { changes, unchanged } = compareProofs(before, after);
    expect(unchanged).toBe(1);
    expect(Object.fromEntries(changes.map(({ id, change }) => [id, change]))).toEqual({
      worse: "worse",
      better: "better",
      other: "other",
      gone: "removed",
      new: "added",
    });
  });

  test("of a core proof with a whole one leaves out what only one tried", () => {
    const core = makeProof([makeCase("both"), makeCase("worse")]);
    const all = makeProof([makeCase("both"), makeCase("worse", { verdict: "fails" }), makeCase("more")], {
      set: "all",
    });
    const { changes, onlyInOne, unchanged } = compareProofs(core, all);
    expect(changes.map(({ id, change }) => `${id} ${change}`)).toEqual(["worse worse"]);
    expect([onlyInOne, unchanged]).toEqual([1, 1]);
  });

  test("refuses two providers", () => {
    expect(() => compareProofs(makeProof([]), makeProof([], { provider: "claude" }))).toThrow(
      /codex.*claude/,
    );
  });
});
