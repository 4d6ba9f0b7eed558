import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LINE_CAP_BYTES } from "../../src/spawn/frame.ts";
import { tailFiles } from "../../src/spawn/tail-files.ts";

let folder: string;
let lines: string[];
let lost: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bridle-tail-"));
  lines = [];
  lost = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const follow = () =>
  tailFiles({
    folder: join(folder, "sessions"),
    suffix: ".jsonl",
    onLine: (line) => lines.push(line),
    onLost: (detail) => lost.push(detail.replace(folder, "")),
  });
const put = (name: string, text: string) => {
  const path = join(folder, "sessions", name);
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, text);
  return path;
};

describe("appended lines", () => {
  it("are read once each, from every file at any depth, also one that appears later", () => {
    const tail = follow();
    tail.look();
    put("2026/11/30/a.jsonl", "one\n");
    tail.look();
    put("2026/11/30/a.jsonl", "two\n");
    put("2026/12/01/b.jsonl", "three\n");
    tail.look();
    tail.look();
    expect(lines).toEqual(["one", "two", "three"]);
    expect([tail.files, lost]).toEqual([2, []]);
  });

  it("that are not whole yet wait for their end", () => {
    const tail = follow();
    put("a.jsonl", "o");
    tail.look();
    expect(lines).toEqual([]);
    put("a.jsonl", "ne\n");
    tail.look();
    expect(lines).toEqual(["one"]);
  });

  it("of megabytes are read whole", () => {
    const long = "é".repeat(1_000_000);
    put("a.jsonl", `${long}\n`);
    follow().look();
    expect(lines).toEqual([long]);
  });

  it("of files with another ending are left alone", () => {
    put("a.sqlite", "x\n");
    follow().look();
    expect([lines, lost]).toEqual([[], []]);
  });
});

describe("a file that is not what it was is told once", () => {
  it.each<[string, string, (path: string) => void]>([
    ["gone", "is gone", (path) => rmSync(path)],
    ["its folder gone", "is gone", (path) => rmSync(dirname(path), { recursive: true })],
    ["cut", "was cut", (path) => writeFileSync(path, "")],
    [
      "another file in its place",
      "is another file",
      (path) => {
        writeFileSync(`${path}.new`, "one\nfour\n");
        renameSync(`${path}.new`, path);
      },
    ],
    [
      "a link in its place",
      "is not a regular file",
      (path) => {
        renameSync(path, `${path}.away`);
        symlinkSync(`${path}.away`, path);
      },
    ],
    [
      "with a line beyond the cap",
      "holds a line of",
      (path) => appendFileSync(path, `${"x".repeat(LINE_CAP_BYTES + 1)}\n`),
    ],
  ])("%s", (_what, detail, change) => {
    const path = put("2026/a.jsonl", "one\n");
    const tail = follow();
    tail.look();
    change(path);
    tail.look();
    tail.look();
    expect(lost).toHaveLength(1);
    expect(lost[0]).toMatch(new RegExp(`^/sessions/2026/a\\.jsonl ${detail}`));
  });
});
