// Holds docs/SETTINGS.md and docs/TRUST.md to the code.

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { PLACEHOLDER_NAMES } from "../../src/compiler/placeholders.ts";
import { loadSettings } from "../../src/index.ts";
import { hashCommand } from "../../src/trust/command-hash.ts";
import { COMMANDS_KEY, FILES_KEY, PROJECTS_KEY } from "../../src/trust/trust-records.ts";

const read = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const settings = await read("docs/SETTINGS.md");
const trust = await read("docs/TRUST.md");

const firstCells = (text: string, heading: string) =>
  [...(text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "").matchAll(/^\| `([^`]+)` \|/gm)].map(
    ([, cell]) => cell,
  );

test("SETTINGS.md has every placeholder", () => {
  expect(firstCells(settings, "Placeholders")).toEqual(PLACEHOLDER_NAMES.map((name) => `{${name}}`));
});

test("SETTINGS.md has every option of loadSettings", async () => {
  const source = await read("src/declaration/load-settings.ts");
  const body = source.slice(source.indexOf("export interface LoadSettingsOptions {"));
  const fields = [...body.slice(0, body.indexOf("\n}")).matchAll(/^ {2}readonly (\w+)\??:/gm)];
  expect(firstCells(settings, "loadSettings")).toEqual(fields.map(([, field]) => field));
});

test("SETTINGS.md's example for editors is a settings file that loads", async () => {
  const [, example = ""] = /```yaml\n(# yaml-language-server[\s\S]*?)```/.exec(settings) ?? [];
  const cwd = await mkdtemp(join(tmpdir(), "bridle-settings-"));
  try {
    await mkdir(join(cwd, ".lionagi"));
    await writeFile(join(cwd, ".lionagi/settings.yaml"), example);
    const { origins } = await loadSettings({ cwd, home: join(cwd, "none") });
    expect(origins.size).toBe(2);
  } finally {
    await rm(cwd, { recursive: true });
  }
});

test("TRUST.md has every tier", async () => {
  const source = await read("src/declaration/origin.ts");
  const tiers = [...(/type Tier = ([^;]+);/.exec(source)?.[1] ?? "").matchAll(/"(\w+)"/g)].map(
    ([, tier]) => tier,
  );
  expect(firstCells(trust, "Tiers")).toEqual([...tiers, "caller"]);
});

test("TRUST.md shows the records under their keys, and a real hash", () => {
  for (const key of [COMMANDS_KEY, FILES_KEY, PROJECTS_KEY]) expect(trust).toContain(`\n${key}: `);
  expect(trust).toContain(hashCommand(["uv", "run", "guards/check_cmd.py"]).slice(0, 16));
});

test.each(["README.md", "docs/SETTINGS.md"])("%s shows the three lines of a program", async (page) => {
  expect(await read(page)).toContain(
    [
      "const settings = await loadSettings({ cwd });",
      "const hooks = await compileAgentHooks(settings.declaration, { provider, cwd, origins: settings.origins });",
      "const run = await spawnAgent({ hooks, prompt, cwd });",
    ].join("\n"),
  );
});
