// Walks docs/NEWCOMER.md as it is written: its files, its commands in their order, its repair. All but doctor and run, which want an agent.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DIST } from "../journal/support.ts";
import { makeWorld, type World } from "../trust/support.ts";

const page = await readFile(fileURLToPath(new URL("../../docs/NEWCOMER.md", import.meta.url)), "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, body = ""]) => body,
  );

let world: World;
let bin: string;
beforeAll(async () => {
  world = await makeWorld();
  await world.put("project", "../bin/bridle", `#!/bin/sh\nexec node ${DIST}/cli/main.js "$@"\n`, 0o755);
  bin = join(world.root, "bin");
}, 120_000);
afterAll(() => world.remove());

function sh(line: string): Promise<{ code: number; stdout: string }> {
  const env = { PATH: [bin, process.env.PATH].join(delimiter), HOME: world.home, NO_COLOR: "1" };
  return new Promise((resolve) => {
    execFile("sh", ["-c", line], { env, cwd: world.project }, (error, stdout) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout }),
    );
  });
}

test("the page leads from .claude/settings.json to a guard that denies", async () => {
  const [settings = ""] = blocks("json");
  const [script = "", repair = ""] = blocks("js");
  await world.put("project", ".claude/settings.json", settings);
  await world.put("project", ".claude/hooks/guard.mjs", script);
  const lines = blocks("sh")
    .flatMap((block) => block.trim().split("\n"))
    .filter((line) => !/^bridle (?:doctor|run)\b/.test(line));
  const seen: [string, number][] = [];
  let last = "";
  for (const line of lines) {
    const { code, stdout } = await sh(line);
    seen.push([line.replace(/\s+#.*/, ""), code]);
    last = stdout;
    if (line === "bridle test" && code === 1) {
      const hint = /^ {2}= NEVER BLOCKED: .*$/m.exec(page)?.[0] ?? "the page shows no hint";
      expect(stdout).toContain(hint);
      await world.put("project", ".claude/hooks/guard.mjs", script.replace(/^const .*\n/m, repair));
    }
  }
  expect(seen).toEqual([
    ["bridle import claude", 0],
    ["bridle import claude --write", 0],
    ["bridle trust", 1],
    ["bridle trust approve --all", 0],
    ["bridle test", 1],
    ["bridle trust", 1],
    ["bridle trust approve --all", 0],
    ["bridle test", 0],
    ["bridle validate", 0],
    ["bridle list", 0],
    [expect.stringContaining("bridle invoke PreToolUse --input -"), 1],
  ]);
  expect(last).toContain("verdict: deny: not in this project");
  expect(page).toContain("`verdict: deny: not in this project`");
}, 60_000);

test("the rows that the page would write down are self-tests that pass", async () => {
  const file = await world.read("project");
  const [rows = ""] = blocks("yaml");
  const written = file.replace(/^( *)command: .*\n/m, (line) => `${line}${rows}`);
  await world.put("project", ".lionagi/settings.yaml", written);
  const { code, stdout } = await sh("bridle test --json");
  expect(JSON.parse(stdout).guards[0].rows).toMatchObject([
    { expected: "deny", passed: true },
    { expected: "allow", passed: true },
  ]);
  expect(code).toBe(0);
});
