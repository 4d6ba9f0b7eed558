// Holds docs/TESTKIT.md to the code: its examples are run, its table is the code's.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { parseFakeScript } from "../../src/testkit/fake/script.mjs";
import * as publicList from "../../src/testkit/index.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs", "TESTKIT.md"), "utf8");

describe("docs/TESTKIT.md", () => {
  test("has the table of sins of the code", () => {
    const rows = page
      .slice(page.indexOf("<!-- table: sins -->"))
      .split("\n\n")[1]
      ?.split("\n")
      .slice(2)
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    const expected = Object.entries(publicList.SINS as Record<string, publicList.SinRow>).map(
      ([name, { on, providers, value = "", does, bridle }]) => [
        `\`${name}\``,
        on,
        providers.join(", "),
        value,
        does,
        bridle,
      ],
    );
    expect(rows).toEqual(expected);
    expect(page).toContain(`misbehave in ${expected.length} ways`);
  });

  test("has every public function", () => {
    for (const name of Object.keys(publicList)) expect(page).toMatch(new RegExp(`^\\| \`${name}[\`(]`, "m"));
  });

  test("shows a script that is one", () => {
    const [, json = ""] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    expect(parseFakeScript(JSON.parse(json), { provider: "claude" }).steps).toHaveLength(2);
  });
});

describe("the example", () => {
  const files = readdirSync(join(root, "examples", "testkit"));

  test("of each section is there", () => {
    expect(files.sort()).toEqual(["cassette.ts", "guard-denies.ts", "skipped-hook.ts"]);
  });

  test.each(files)("%s stands in the page as it is in its file", (file) => {
    const [, code = ""] = readFileSync(join(root, "examples", "testkit", file), "utf8").split(
      /\n\n([\s\S]*)/,
    );
    expect(page).toContain(`\`\`\`ts\n// example: examples/testkit/${file}\n${code}\`\`\``);
  });

  test.each(files)("%s runs to its end", async (file) => {
    await import(pathToFileURL(join(root, "examples", "testkit", file)).href);
  });
});

describe("the code of the fakes", () => {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.m?[jt]s$/.test(file),
  );
  const importsOf = (file: string) =>
    [
      ...readFileSync(join(root, "src", file), "utf8").matchAll(
        /^(?:import|export) (?!type)[^;]*? from "([^"]+)";$|\bimport\("([^"]+)"\)[^.]*\)\./gm,
      ),
    ].map(([, named, late]) => (named ?? late) as string);

  test("imports nothing of the code it is there to test", () => {
    const fakes = files.filter((file) => /^testkit\/(?:fake\/|fake-\w+\.mjs)/.test(file));
    expect(fakes.length).toBeGreaterThan(20);
    const foreign = fakes
      .flatMap(importsOf)
      .filter((path) => !/^(?:node:.+|zod|toml-eslint-parser|.+\.mjs)$/.test(path));
    expect(foreign).toEqual([]);
  });

  test("is imported by nothing outside the testkit", () => {
    const others = files.filter((file) => !file.startsWith("testkit/"));
    expect(others.filter((file) => importsOf(file).some((path) => path.includes("testkit")))).toEqual([]);
  });
});
