// Holds docs/HOOKS.md to the code: every hook has its section, its options with their defaults, what it cannot see, and an example that works.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { validateDeclaration } from "../../src/declaration/validate.ts";
import * as hooks from "../../src/hooks/index.ts";
import * as scan from "../../src/hooks/secret-scan.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/HOOKS.md");
const NAMES = [...Object.keys(hooks), ...Object.keys(scan)];

const fileOf = (name: string) =>
  `src/hooks/${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.ts`;
const sectionOf = (name: string) => {
  const start = page.indexOf(`\n## ${name}\n`);
  if (start === -1) throw new Error(`no section ${name}`);
  const end = page.indexOf("\n## ", start + 1);
  return page.slice(start, end === -1 ? undefined : end);
};

it("has a section for each hook and for nothing else", () => {
  expect([...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name).sort()).toEqual([...NAMES].sort());
});

it.each(NAMES)("%s: every option, with its default", (name) => {
  const source = read(fileOf(name));
  const start = source.search(/export interface \w+Options \{/);
  const body = source.slice(start, source.indexOf("\n}", start));
  const options = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option]) => option);
  const rows = [...sectionOf(name).matchAll(/^\| `(\w+)` \| (?:\\\||[^|])+ \| ((?:\\\||[^|])+) \|/gm)];
  expect(rows.map(([, option]) => option)).toEqual(options);
  for (const [, option, value = ""] of rows) {
    const given = new RegExp(`@default ([^\\n]*?)\\s*\\*/\\s*readonly ${option}\\?`).exec(body)?.[1];
    if (given === undefined) expect(value).toBe("required");
    else if (/^(?:"\w+"|\[\]|\d+)$/.test(given)) expect(value).toBe(`\`${given}\``);
  }
});

it.each(NAMES)("%s: says what it cannot see", (name) => {
  expect(sectionOf(name)).toContain("What it cannot see");
});

it.each(NAMES)("%s: its example is a declaration without problems", async (name) => {
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(sectionOf(name)) ?? [];
  expect(code).toContain(
    `import { ${name} } from "agent-bridle/hooks${name === "secretScan" ? "/secret-scan" : ""}";`,
  );
  const run = new Function(
    name,
    `${code.replaceAll(/^import .*$/gm, "").replace("export const hooks =", "return")}`,
  );
  const factory = { ...hooks, ...scan }[name as keyof typeof hooks];
  expect(validateDeclaration(run(factory), "docs/HOOKS.md").issues).toEqual([]);
});
