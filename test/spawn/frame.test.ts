import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineFramer, SKIP_BYTES, type SkippedLine } from "../../src/spawn/frame.ts";

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

describe("lines that are not wanted", () => {
  /** Every second kind of line is wanted; what is not is never made a text. */
  const split = (chunks: readonly Buffer[], cap?: number) => {
    const lines: string[] = [];
    const overflows: SkippedLine[] = [];
    let asked = 0;
    const framer = createLineFramer(
      {
        skips: (bytes, start, end) => {
          asked += 1;
          return bytes.toString("latin1", start, Math.min(end, start + 4)) === "skip";
        },
        onLine: (line) => lines.push(line),
        onOverflow: (line) => overflows.push(line),
      },
      cap,
    );
    for (const chunk of chunks) framer.push(Buffer.from(chunk));
    return { rest: framer.end(), lines, overflows, asked };
  };
  const line = fc.record({
    isWanted: fc.boolean(),
    length: fc.oneof(
      fc.integer({ min: 0, max: 80 }),
      fc.constantFrom(SKIP_BYTES - 1, SKIP_BYTES, SKIP_BYTES + 1, 200),
    ),
  });

  test("are passed over, however the bytes were cut, and no other is lost", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), cuts, (kinds, at) => {
        const texts = kinds.map(
          ({ isWanted, length }) => `${isWanted ? "keep" : "skip"}${"x".repeat(length)}`,
        );
        const seen = split(cut(Buffer.from(texts.map((text) => `${text}\n`).join("")), at));
        // A short line that was cut is not asked about: it costs nothing.
        const unasked = texts.filter((text) => text.startsWith("skip") && text.length < SKIP_BYTES);
        const must = texts.filter((text) => text.startsWith("keep"));
        expect(seen.lines.filter((text) => text.startsWith("keep"))).toEqual(must);
        for (const text of seen.lines) expect(text.startsWith("keep") || unasked.includes(text)).toBe(true);
        expect(seen.asked).toBeLessThanOrEqual(texts.length);
        expect(seen).toMatchObject({ rest: "", overflows: [] });
      }),
      { numRuns: 3_000 },
    );
  });

  test("are not told when they are above the cap, in one chunk and in many", () => {
    const bytes = Buffer.from(`skip${"x".repeat(1_000)}\nkeep\nkeep${"y".repeat(1_000)}\nkeep too\n`);
    for (const chunks of [[bytes], cut(bytes, [...Array(900).keys()])]) {
      const { lines, overflows } = split(chunks, 100);
      expect(lines).toEqual(["keep", "keep too"]);
      expect(overflows).toMatchObject([{ bytes: 1_004 }]);
    }
  });

  test("leave their start when the stream ends in the middle of one", () => {
    const { rest, lines } = split([Buffer.from(`keep\nskip${"x".repeat(50)}`), Buffer.from("y".repeat(100))]);
    expect(lines).toEqual(["keep"]);
    expect(rest).toBe(`skip${"x".repeat(50)}${"y".repeat(10)}`);
  });
});
