// The fixtures with bytes changed, and what was never a file of hooks.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { kindOfFixture } from "./support.ts";

const FIXTURES = ["cases", "configs"].flatMap((folder) => {
  const place = fileURLToPath(new URL(`fixtures/${folder}/`, import.meta.url));
  return readdirSync(place).map((name) => ({ bytes: readFileSync(place + name), kind: kindOfFixture(name) }));
});

interface Mangling {
  readonly how: "set" | "insert" | "delete" | "repeat" | "cut" | "swap";
  readonly at: number;
  readonly length: number;
  readonly byte: number;
}

const interesting = [..."{}[]\",:\\/*'$`|&;<>()#-=~ \n\r\t0\0é\uFEFF"].flatMap((one) => [
  ...Buffer.from(one),
]);
const mangling: fc.Arbitrary<Mangling> = fc.record({
  how: fc.constantFrom("set", "set", "insert", "insert", "delete", "repeat", "cut", "swap"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 24 }),
  byte: fc.oneof(fc.constantFrom(...interesting), fc.integer({ min: 0, max: 255 })),
});

export const mangledBytes = fc
  .record({
    fixture: fc.constantFrom(...FIXTURES),
    changes: fc.array(mangling, { minLength: 1, maxLength: 4 }),
  })
  .map(({ fixture: { bytes, kind }, changes }) => ({ kind, bytes: changes.reduce(mangle, bytes) }));

function mangle(bytes: Buffer, { how, at, length, byte }: Mangling): Buffer {
  const start = Math.floor(at * bytes.length);
  const end = Math.min(bytes.length, start + length);
  const [head, middle, tail] = [bytes.subarray(0, start), bytes.subarray(start, end), bytes.subarray(end)];
  switch (how) {
    case "set":
      return Buffer.concat([head, Buffer.from([byte]), bytes.subarray(start + 1)]);
    case "insert":
      return Buffer.concat([head, Buffer.from([byte]), middle, tail]);
    case "delete":
      return Buffer.concat([head, tail]);
    case "repeat":
      return Buffer.concat([head, middle, middle, tail]);
    case "cut":
      return Buffer.from(head);
    default:
      return Buffer.concat([head, Buffer.from(middle).reverse(), tail]);
  }
}

export const garbage = fc.oneof(
  fc.json(),
  fc.string({ unit: "binary" }),
  fc.json().map((inner) => `{"hooks":${inner}}`),
  fc.string().map((inner) => `---\nhooks:\n  Stop: ${inner}\n---\n`),
  fc
    .array(fc.string({ maxLength: 12 }))
    .map((lines) => `---\nhooks:\n${lines.map((line) => `  ${line}`).join("\n")}\n---\n`),
  fc
    .tuple(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }))
    .map(([key, value]) => `[[hooks.${key}]]\nhooks = ${value}\n`),
  fc.constantFrom("[", "{", '{"a":', "((", "- ", "? ").map((piece) => piece.repeat(20_000)),
  fc.constantFrom("[", '{"a":', "- ").map((piece) => `---\n${piece.repeat(3000)}\n---\n`),
);
