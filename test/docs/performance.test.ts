// Holds docs/PERFORMANCE.md to bench/results.json: no figure there is written by hand.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { renderPage } from "../../bench/write-page.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/PERFORMANCE.md");
const data = JSON.parse(read("bench/results.json"));

describe("docs/PERFORMANCE.md", () => {
  it("shows what bench/results.json holds, and nothing else between its marks", () => {
    expect(renderPage(page, data)).toBe(page);
  });

  it("has a place for every name that the bench can measure", () => {
    const names = [...read("bench/main.mjs").matchAll(/^ {2,4}\{?\s*name: "([\w-]+)",/gm)].map(
      ([, name]) => name,
    );
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => !page.includes(`<!-- measured: ${name} -->`))).toEqual([]);
    expect(names.filter((name) => !page.includes(`--only ${name}`))).toEqual([]);
  });

  it("cannot lose a table: one without a place, and a place without one, throw", () => {
    const [first] = data.results;
    const more = { ...data, results: [...data.results, { ...first, name: "newcomer" }] };
    expect(() => renderPage(page, more)).toThrow("newcomer");
    const less = { ...data, results: data.results.filter(({ name }: { name: string }) => name !== "hooks") };
    expect(() => renderPage(page, less)).toThrow("hooks");
  });

  it("says of a busy machine that nothing was judged, and of a broken promise that it was", () => {
    const [first] = data.results;
    const broken = { promise: "p ≤ 1", value: 2, limit: 1, holds: false };
    const of = (busy: boolean) =>
      renderPage("<!-- measured: promises -->\n<!-- end -->\n<!-- measured: x -->\n<!-- end -->", {
        ...data,
        results: [{ ...first, name: "x", busy, checks: [broken] }],
      });
    expect(of(true)).toContain("1 of them on a busy machine, where none is judged.");
    expect(of(true)).toContain("| 2.000 | ≤ 1.000 | not judged |");
    expect(of(false)).toContain("1 did not hold: p ≤ 1");
    expect(of(false)).toContain("| 2.000 | ≤ 1.000 | BROKEN |");
  });

  it("names the peers that bench/package.json pins, and no other version of claude than the suite's", () => {
    const { dependencies: peers } = JSON.parse(read("bench/package.json"));
    const { dependencies: pinned } = JSON.parse(read("conformance/package.json"));
    for (const [name, version] of Object.entries(peers)) {
      expect(page).toContain(`\`${name}\``);
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
    const patch = (version: string) => version.split(".").at(-1);
    expect(patch(peers["@anthropic-ai/claude-agent-sdk"])).toBe(patch(pinned["@anthropic-ai/claude-code"]));
  });
});
