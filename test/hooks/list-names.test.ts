// Names that a pattern may mean, held against another reader of patterns over trees with hidden names, links, loops and odd names.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import fastGlob from "fast-glob";
import picomatch from "picomatch";
import { afterEach, beforeEach, expect, test } from "vitest";
import { expandStars, listBelow } from "../../src/hooks/list-names.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bridle-names-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NAMES = [
  "a",
  "ab",
  "ba",
  "aba",
  ".a",
  ".env",
  "a.env",
  "(a)",
  "[b]",
  "a b",
  "{a,b}",
  "+",
  "node_modules",
];

interface Planted {
  readonly parts: readonly string[];
  readonly kind: "file" | "folder" | "loop" | "link" | "broken";
}

const trees = fc.array(
  fc.record<Planted>({
    parts: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 }),
    kind: fc.constantFrom("file", "folder", "loop", "link", "broken"),
  }),
  { maxLength: 12 },
);

function plant(root: string, { parts, kind }: Planted): void {
  const path = join(root, ...parts);
  try {
    mkdirSync(dirname(path), { recursive: true });
    if (kind === "file") writeFileSync(path, "", { flag: "wx" });
    else if (kind === "folder") mkdirSync(path);
    else symlinkSync({ loop: ".", link: "../a", broken: "nowhere" }[kind], path);
  } catch (error) {
    if (!/EEXIST|ENOENT|ENOTDIR|ELOOP/.test(String(error))) throw error; // the place is taken
  }
}

function withTree(list: readonly Planted[], check: (root: string) => void): void {
  const root = mkdtempSync(join(folder, "tree-"));
  for (const one of list) plant(root, one);
  check(root);
}

const OPTIONS = { onlyFiles: false, followSymbolicLinks: false, suppressErrors: true } as const;

test("below a folder there is what another reader finds", () => {
  const patterns = fc.constantFrom("a", "*", ".env", "*.env", ".*", "{a,ba}", "node_modules", "[a-b]", "**");
  fc.assert(
    fc.property(trees, patterns, fc.integer({ min: 1, max: 4 }), (list, pattern, deep) =>
      withTree(list, (root) => {
        const whole = `**/${pattern}`;
        const options = { ...OPTIONS, cwd: root, dot: true, deep, ignore: ["**/node_modules/**"] };
        const isMeant = picomatch(whole, { dot: true });
        const found = Array.from(listBelow(root, deep)).filter((path) => isMeant(path));
        expect(found.sort()).toEqual(fastGlob.sync(whole, options).sort());
      }),
    ),
    { numRuns: 300 },
  );
});

test("a star stands for what another reader makes of it", () => {
  const part = fc.array(fc.constantFrom("*", "ab", "ba", "b", ".", "e", "(", "[b]", " ", "{a,b}"), {
    minLength: 1,
    maxLength: 3,
  });
  const paths = fc
    .tuple(fc.constantFrom("", "./", "ABSOLUTE/", "a/"), fc.array(part, { minLength: 1, maxLength: 3 }))
    .map(([head, parts]) => head + parts.map((pieces) => pieces.join("")).join("/"))
    .filter((path) => path.includes("*") && !path.split("/").some((it) => it === "." || it === ".."));
  fc.assert(
    fc.property(trees, paths, fc.boolean(), (list, path, isFolder) =>
      withTree(list, (root) => {
        const given = path.replace("ABSOLUTE", root).replaceAll(/\*+/g, "*") + (isFolder ? "/" : "");
        const pattern = given.split("*").map(escaped).join("*");
        const found = Array.from(expandStars(given, { folder: root, star: "*" }));
        expect(found.sort()).toEqual(fastGlob.sync(pattern, { ...OPTIONS, cwd: root, dot: false }).sort());
      }),
    ),
    { numRuns: 500 },
  );
});

function escaped(text: string): string {
  return text === "" ? "" : fastGlob.escapePath(text);
}

test("what stands before and behind a star shares no character", () => {
  for (const name of ["aba", "abba", "ab-ba"]) writeFileSync(join(folder, name), "");
  expect(Array.from(expandStars("ab*ba", { folder, star: "*" })).sort()).toEqual(["ab-ba", "abba"]);
});

test("what cannot be read holds nothing, and what is no path at all is told", () => {
  expect(Array.from(listBelow(join(folder, "none"), 5))).toEqual([]);
  expect(Array.from(expandStars("none/*", { folder, star: "*" }))).toEqual([]);
  expect(() => Array.from(expandStars("a\0/*", { folder, star: "*" }))).toThrow();
});
