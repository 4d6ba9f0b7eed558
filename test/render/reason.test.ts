// A deny that a provider takes for blank is no deny: codex runs the call then (docs/providers/codex.md X-37).

import fc from "fast-check";
import { expect, test } from "vitest";
import { sayReason, wellFormed } from "../../src/render/reason.ts";
import { adapterFor } from "../../src/render/registry.ts";

/** White space by Unicode, as Rust's trim sees it; JavaScript's trim keeps U+0085. */
const RUST_BLANK = /^[\p{White_Space}]*$/u;

test.each(["", " ", "\n\t", "\u0085", "\0", "\u001b", "\u200b", "\ufeff", "\ud800", "\u2028", "\u00a0"])(
  "%j becomes a reason that can be read",
  (reason) => {
    expect(sayReason(reason)).toBe("denied");
  },
);

test.each([
  ["  no touch \n", "no touch"],
  ["first\r\nsecond", "first\nsecond"],
  ["red \u001b[31m", "red \ufffd[31m"],
  ["half \ud83d a pair", "half \ufffd a pair"],
  ["a\u0085b", "a\ufffdb"],
  ["\ud83d\ude00", "\ud83d\ude00"],
  ["ungültig – nein", "ungültig – nein"],
])("%j is said as %j", (reason, said) => {
  expect(sayReason(reason)).toBe(said);
});

test("no reason is blank or loses its UTF-8 form, on stderr and in the JSON of either provider", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)) }),
      (reason) => {
        for (const provider of ["claude", "codex"] as const) {
          const { code, stdout, stderr } = adapterFor(provider).encodeVerdict("PreToolUse", {
            decision: "deny",
            reason,
          });
          expect(code).toBe(2);
          expect(stderr).not.toMatch(RUST_BLANK);
          expect(Buffer.from(stderr).toString()).toBe(stderr);
          const { permissionDecisionReason: said } = JSON.parse(stdout).hookSpecificOutput;
          expect(said).toBe(stderr);
        }
      },
    ),
  );
});

test("well-formed text is left alone", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => wellFormed(text) === text));
});
