import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineFramer, type SkippedLine } from "../../src/spawn/frame.ts";

function frame(chunks: readonly Buffer[], cap?: number) {
  const lines: string[] = [];
  const overflows: SkippedLine[] = [];
  const framer = createLineFramer(
    { onLine: (line) => lines.push(line), onOverflow: (line) => overflows.push(line) },
    cap,
  );
  for (const chunk of chunks) {
    const own = Buffer.from(chunk);
    framer.push(own);
    own.fill("!"); // the chunk is the caller's again
  }
  return { rest: framer.end(), lines, overflows };
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...cuts.map((cutAt) => cutAt % (bytes.length + 1)), 0, bytes.length].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const bare = (line: string) => (line.endsWith("\r") ? line.slice(0, -1) : line);
const digest = (line: string) => ({
  bytes: Buffer.byteLength(line),
  sha256: createHash("sha256").update(line).digest("hex"),
});

/** Characters of one to four bytes, both line ends, NUL, and the byte order mark. */
const unit = fc.constantFrom("a", "é", "漢", "🙂", "\r", "\r\n", "\n", "\0", "\ufeff");
const text = fc.string({ unit, maxLength: 60 });
const cuts = fc.oneof(fc.array(fc.nat(), { maxLength: 10 }), fc.constant([...Array(200).keys()]));

test("lines are the same, however the bytes were cut", () => {
  fc.assert(
    fc.property(text, cuts, (whole, at) => {
      const parts = whole.split("\n");
      const rest = parts.pop() as string;
      expect(frame(cut(Buffer.from(whole), at))).toEqual({
        lines: parts.map(bare).filter((line) => line !== ""),
        rest: bare(rest),
        overflows: [],
      });
    }),
    { numRuns: 3_000 },
  );
});

test("a line above the cap is told with length and digest, however it was cut, and the others are kept", () => {
  fc.assert(
    fc.property(text, cuts, fc.integer({ min: 1, max: 40 }), (whole, at, cap) => {
      const parts = whole.split("\n");
      const rest = parts.at(-1) as string;
      const isLong = (line: string) => Buffer.byteLength(line) > cap;
      expect(frame(cut(Buffer.from(whole), at), cap)).toEqual({
        lines: parts
          .slice(0, -1)
          .filter((line) => !isLong(line))
          .map(bare)
          .filter((line) => line !== ""),
        rest: isLong(rest) ? "" : bare(rest),
        overflows: parts.filter(isLong).map(digest),
      });
    }),
    { numRuns: 3_000 },
  );
});

test("bytes that are no UTF-8 stay between the lines around them", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 12 })), cuts, (given, at) => {
      const lines = given.map((line) => Buffer.from(line.filter((byte) => byte !== 10 && byte !== 13)));
      const whole = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
      expect(frame(cut(whole, at)).lines).toEqual(lines.map(String).filter((line) => line !== ""));
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["a line of exactly the cap is kept", "x".repeat(16), { lines: ["x".repeat(16)], overflows: [] }],
  [
    "a carriage return counts",
    `${"x".repeat(16)}\r`,
    { lines: [], overflows: [digest(`${"x".repeat(16)}\r`)] },
  ],
])("%s", (_promise, line, seen) => {
  expect(frame([Buffer.from(`${line}\n`)], 16)).toMatchObject(seen);
  expect(
    frame(
      [...`${line}\n`].map((byte) => Buffer.from(byte)),
      16,
    ),
  ).toMatchObject(seen);
});

test("an unfinished line above the cap is told at the end, once", () => {
  expect(frame([Buffer.from("x".repeat(20))], 16)).toEqual({
    lines: [],
    overflows: [digest("x".repeat(20))],
    rest: "",
  });
});

test("a line in very many chunks is copied a few times, not once a chunk", () => {
  const chunk = Buffer.alloc(1024, "x");
  let copied = 0;
  const framer = createLineFramer({ onLine: () => {}, onOverflow: () => {} });
  const copy = Buffer.prototype.copy;
  Buffer.prototype.copy = function (this: Buffer, ...how: Parameters<typeof copy>) {
    const count = copy.apply(this, how);
    copied += count;
    return count;
  } as typeof copy;
  try {
    for (let index = 0; index < 8_000; index++) framer.push(chunk);
  } finally {
    Buffer.prototype.copy = copy;
  }
  expect(framer.end().length).toBe(8_000 * 1024);
  expect(copied).toBeLessThan(3 * 8_000 * 1024);
});
