import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineFramer } from "../../src/spawn/frame.ts";

function frame(chunks: readonly Buffer[], cap?: number) {
  const lines: string[] = [];
  const overflows: number[] = [];
  const framer = createLineFramer(
    { onLine: (line) => lines.push(line), onOverflow: (bytes) => overflows.push(bytes) },
    cap,
  );
  for (const chunk of chunks) framer.push(chunk);
  return { rest: framer.end(), lines, overflows };
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...cuts.map((cutAt) => cutAt % (bytes.length + 1)), 0, bytes.length].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const text = fc.string({ unit: fc.constantFrom("a", "é", "漢", "🙂", "\n", "\r", "\r\n"), maxLength: 60 });

test("lines are the same, however the bytes were cut", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 10 }), (whole, cuts) => {
      const parts = whole.split("\n");
      const rest = parts.pop() as string;
      const bare = (line: string) => (line.endsWith("\r") ? line.slice(0, -1) : line);
      const seen = frame(cut(Buffer.from(whole), cuts));
      expect(seen.lines).toEqual(parts.filter((line) => line !== "").map(bare));
      expect(seen.rest).toBe(bare(rest));
    }),
    { numRuns: 3_000 },
  );
});

test("a line above the cap is skipped with its length, however it was cut, and the others are kept", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(30), { maxLength: 8 }),
      fc.array(fc.nat(), { maxLength: 10 }),
      (sizes, cuts) => {
        const whole = sizes.map((size) => `${"x".repeat(size)}\n`).join("");
        const { lines, overflows, rest } = frame(cut(Buffer.from(whole), cuts), 16);
        expect(lines.map(({ length }) => length)).toEqual(sizes.filter((size) => size > 0 && size <= 16));
        expect(overflows).toEqual(sizes.filter((size) => size > 16));
        expect(rest).toBe("");
      },
    ),
    { numRuns: 3_000 },
  );
});

test("an unfinished line above the cap is told at the end", () => {
  expect(frame([Buffer.from("x".repeat(20))], 16)).toEqual({ lines: [], overflows: [20], rest: "" });
});
