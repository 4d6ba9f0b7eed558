import fc from "fast-check";
import { expect, test } from "vitest";
import { createByteRing, lastBytes } from "../../src/spawn/byte-ring.ts";

test("the ring holds the last bytes, from a whole character on, however they were cut", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "é", "漢", "🙂", "\n"), maxLength: 40 });
  fc.assert(
    fc.property(
      text,
      fc.array(fc.nat(40), { maxLength: 20 }),
      fc.integer({ min: 4, max: 30 }),
      (whole, sizes, limit) => {
        const bytes = Buffer.from(whole);
        const ring = createByteRing(limit);
        let at = 0;
        for (const size of [...sizes, bytes.length]) {
          ring.push(bytes.subarray(at, at + size));
          at += size;
        }
        const seen = ring.text();
        expect(whole.endsWith(seen)).toBe(true);
        expect(Buffer.byteLength(seen)).toBeLessThanOrEqual(limit);
        expect(Buffer.byteLength(seen)).toBeGreaterThan(
          Math.min(bytes.length, limit) - (bytes.length > limit ? 4 : 1),
        );
        expect(lastBytes(whole, limit)).toBe(seen);
      },
    ),
    { numRuns: 3_000 },
  );
});

test("bytes that are no UTF-8 take no more room as text", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const ring = createByteRing(20);
      for (const byte of bytes) ring.push(Buffer.of(byte));
      expect(Buffer.byteLength(ring.text())).toBeLessThanOrEqual(20);
    }),
  );
});
